"""Names the modules and operators of PyTorch for `topdnn trace --live`, in an unchanged program.

PYTHONPATH leads to this file. It gives way to the user's own sitecustomize, waits for torch, and
tells libtopdnn_live.so, which is preloaded, the module that each thread runs: in the forward pass by
PyTorch's hooks of all modules, in the backward pass by hooks of the tensors that modules return.
(PyTorch's hooks of backward passes would forbid that a program changes an output in place.) For the
operators, it switches on PyTorch's profiler that announces ranges to ITT, in the importing thread;
PyTorch itself does so in backward passes.
"""

import os
import sys


class _Finder:
    """Waits for `import torch`. Python asks it for each module that it has not imported yet."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(cls)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is None:
            sys.meta_path.insert(0, cls)
        elif hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def execute_and_watch(module):
                del spec.loader.exec_module  # (that of the class is behind it)
                execute(module)
                names = os.environ.get("TOPDNN_LIVE_NAMES", "")
                if "modules" in names:
                    _watch(module)
                if "operators" in names:
                    _announce_operators(module)

            spec.loader.exec_module = execute_and_watch
        return spec


# The versions whose ProfilerStubs (C++) are as collector_operators.c has them.
_STUBS = (1, 13), (2, 14)


def _announce_operators(torch):
    import atexit
    import ctypes
    import threading

    library = ctypes.PyDLL(None)
    own = threading.get_ident()

    def note(text):
        try:
            library.topdnn_live_note(("--operators: " + text).encode(errors="replace"))
        except AttributeError:
            pass  # not preloaded

    def leave():
        nonlocal own
        if own == threading.get_ident():
            own = None
            ranges.__exit__(None, None, None)
            return True
        return False

    def give_way(enable):
        """A thread has one profiler: the program's own one is that of PyTorch, unchanged."""

        def call(*arguments, **named):
            if leave():
                note("the program starts a profiler of its own: its operators are known until then")
            return enable(*arguments, **named)

        return call

    try:
        version = tuple(int(number) for number in torch.__version__.split(".")[:2])
        if _STUBS[0] <= version <= _STUBS[1]:
            library.topdnn_live_operators()  # (in a build with ITT these are not needed)
        profiler = torch.autograd.profiler
        ranges = profiler.emit_itt()
        ranges.__enter__()
        atexit.register(leave)
        for name in ("_prepare_profiler", "_enable_profiler"):
            setattr(profiler, name, give_way(getattr(profiler, name)))
    except Exception as error:
        version = getattr(torch, "__version__", "without a version")
        note("PyTorch %s does not announce its operators: %s" % (version, error))


def _watch(torch):
    import ctypes
    import threading
    import weakref

    try:
        # (PyDLL keeps Python's lock: the call takes less time than giving the lock away)
        tell = ctypes.PyDLL(None).topdnn_live_module
        nn = torch.nn.modules.module
        before, after = nn.register_module_forward_pre_hook, nn.register_module_forward_hook
    except AttributeError:
        return  # not preloaded, or not PyTorch
    tell.restype = None

    # By id: modules may be equal, or have no hash. The reference tells whether it is that module.
    names = {}  # (reference, name), as the outermost module that ran names it
    roots = {}  # (reference, name) of the outermost modules
    plain = None  # the reference to the one whose modules are named without it

    def known(table, module):
        reference, name = table.get(id(module), (None, None))
        return name if reference is not None and reference() is module else None

    def name_modules(root):
        """As root.named_modules(). The modules of further models have the model's name before."""
        nonlocal plain
        own = known(roots, root)
        if own is None:
            own = kind = type(root).__name__
            taken = [name for reference, name in roots.values() if reference() is not None]
            while own in taken:
                own = "%s#%d" % (kind, int(own[len(kind) + 1 :] or 1) + 1)
            roots[id(root)] = (weakref.ref(root), own)
        modules = list(root.named_modules())
        first = plain and plain()
        if len(modules) > 1 and (first is None or any(m is first for _, m in modules)):
            plain, first = weakref.ref(root), root
        prefix = "" if first is root else own + ":"
        for name, module in modules:
            name = prefix + name if name else own
            names[id(module)] = (weakref.ref(module), name.encode(errors="replace"))

    class Thread(threading.local):
        def __init__(self):
            self.stack = []  # (module, its name) in the forward pass, the innermost last
            self.backward = b""
            self.told = b""

        def tell(self):
            name = self.stack[-1][1] if self.stack else self.backward
            if name != self.told:
                self.told = name
                tell(name)

    thread = Thread()

    def end_backward():
        thread.backward = b""
        thread.tell()

    class Begin:
        """The gradient of a module's output is there: its backward pass begins."""

        __torch_unserializable__ = True  # as torch.utils.hooks.unserializable_hook: no warning

        def __init__(self, name):
            self.name = name

        def __call__(self, _gradient):
            if not thread.backward:
                torch.autograd.Variable._execution_engine.queue_callback(end_backward)
            thread.backward = self.name
            thread.tell()

    class End(Begin):
        """The gradient of an input is there: the module that called goes on."""

        def __init__(self, name, caller):
            self.name = name
            self.caller = caller

        def __call__(self, _gradient):
            if thread.backward == self.name:
                thread.backward = self.caller
                thread.tell()

    hooks = {}

    def hook(kind, *arguments):
        key = (kind, *arguments)
        if key not in hooks:
            hooks[key] = kind(*arguments)
        return hooks[key]

    def tensors(value):
        if isinstance(value, torch.Tensor):
            return (value,) if value.grad_fn is not None else ()
        if isinstance(value, dict):
            value = value.values()
        elif not isinstance(value, (list, tuple)):
            return ()
        return [v for v in value if isinstance(v, torch.Tensor) and v.grad_fn is not None]

    def on_begin(module, _inputs):
        stack = thread.stack
        # A module that is there already ended by an exception.
        for place, (running, _) in enumerate(stack):
            if running is module:
                del stack[place:]
                break
        name = known(names, module)
        if name is None:
            root = stack[0][0] if stack else module
            if not any(m is module for m in root.modules()):
                root = module
            name_modules(root)
            name = known(names, module)
        stack.append((module, name))
        thread.tell()

    def on_end(module, inputs, output):
        stack = thread.stack
        place = len(stack) - 1
        while place >= 0 and stack[place][0] is not module:
            place -= 1
        if place < 0:
            return
        name = stack[place][1]
        del stack[place:]
        thread.tell()
        outputs = tensors(output)
        if not outputs:
            return
        inputs = tensors(inputs)
        for value in outputs:
            # Its own output, not that of a module that it called.
            made = value.grad_fn.metadata
            if "topdnn" in made:
                continue
            # A hook of an input that was changed in place may run where the input's own does.
            own = not any(value is i for i in inputs)
            made["topdnn"] = own
            if own:
                value.register_hook(hook(Begin, name))
        caller = stack[-1][1] if stack else b""
        for value in inputs:
            if not value.grad_fn.metadata.get("topdnn"):
                value.register_hook(hook(End, name, caller))

    def harmless(watch):
        """An error in here must not reach the program: its thread runs without names then."""

        def call(*arguments):
            try:
                watch(*arguments)
            except Exception:
                thread.stack.clear()
                end_backward()

        return call

    before(harmless(on_begin))
    try:
        after(harmless(on_end), always_call=True)  # also after an exception, since PyTorch 2.1
    except TypeError:
        after(harmless(on_end))


def _give_way():
    """Takes this folder from the path, and imports the sitecustomize that would be first."""
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != own]
    this = sys.modules.pop(__name__)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, this)


sys.meta_path.insert(0, _Finder)
_give_way()
