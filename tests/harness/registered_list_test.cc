#include "harness/text/registered_list.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace topdnn {
namespace {

struct Named {
  std::string name;
  int number = 0;
};

TEST(RegisteredListTest, HoldsItsEntriesSortedByName) {
  RegisteredList<Named, &Named::name> list("number");
  EXPECT_TRUE(list.entries().empty());
  EXPECT_FALSE(list.Contains("one"));
  list.Add({"two", 2});
  list.Add({"one", 1});
  list.Add({"three", 3});
  ASSERT_EQ(list.entries().size(), 3u);
  EXPECT_EQ(list.entries()[0].number, 1);
  EXPECT_EQ(list.entries()[1].number, 3);
  EXPECT_EQ(list.entries()[2].number, 2);
  EXPECT_TRUE(list.Contains("three"));
  EXPECT_FALSE(list.Contains("zero"));
}

TEST(RegisteredListTest, RefusesADuplicateAndNamesIt) {
  RegisteredList<Named, &Named::name> list("number");
  list.Add({"one", 1});
  try {
    list.Add({"one", 2});
    FAIL() << "the duplicate was accepted";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "the number one is registered twice: remove or rename one");
  }
  ASSERT_EQ(list.entries().size(), 1u);
  EXPECT_EQ(list.entries()[0].number, 1);
}

}  // namespace
}  // namespace topdnn
