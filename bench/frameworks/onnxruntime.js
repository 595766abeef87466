// Times inference of a network in ONNX Runtime, from the ONNX file that topdnn exports.
//
//   onnxruntime.js TASK        {"modes": {MODE: milliseconds}}; TASK is described in `compare`. With
//                              TASK.stages also {"stages": {MODE: {OPERATION: milliseconds}}}
//   onnxruntime.js --version   {"framework": NAME} or {"absent": REASON}
//
// In pass "first" it loads the file, with the graph optimisation that the mode names, computes the
// image of TASK.image once, and prints {"scores": [...]}. The package is npm's onnxruntime-node,
// installed in the folder TOPDNN_ONNXRUNTIME or in one of NODE_PATH.
// ONNX Runtime does not train here, and computes in f32: otherwise there is no mode.

"use strict";
const fs = require("fs");
const os = require("os");
const path = require("path");

function load() {
  const folder = process.env.TOPDNN_ONNXRUNTIME;
  return require(folder ? `${folder}/node_modules/onnxruntime-node` : "onnxruntime-node");
}

// The options of each mode that may be the fastest, beside those of all modes
// (https://onnxruntime.ai/docs/performance/tune-performance/threading.html).
function stepModes(batch) {
  return {
    "defaults": {},
    "fixed batch": { freeDimensionOverrides: { N: batch } },
    "no arena": { enableCpuMemArena: false },
    "no spinning": { extra: { session: { intra_op: { allow_spinning: "0" } } } },
    "denormals as zero": { extra: { session: { set_denormal_as_zero: "1" } } },
  };
}

function open(ort, task, options) {
  const ofAll = {
    graphOptimizationLevel: "all",
    executionMode: "sequential",
    intraOpNumThreads: task.threads,
    interOpNumThreads: 1,
  };
  return ort.InferenceSession.create(task.onnx, { ...ofAll, ...options });
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// As median_ms of timing.py.
async function medianMs(step, task) {
  await step();
  await step();
  const times = [];
  const end = performance.now() + 1e3 * task.seconds;
  while (performance.now() < end || times.length < task.steps) {
    const start = performance.now();
    await step();
    times.push(performance.now() - start);
  }
  return median(times);
}

// topdnn's names of operations. Others keep ONNX Runtime's.
const OPERATIONS = {
  Conv: "conv forward",
  FusedConv: "conv forward",
  FusedGemm: "inner_product forward",
  Gemm: "inner_product forward",
  MatMul: "inner_product forward",
  Relu: "relu forward",
  Clip: "bounded_relu forward",
  MaxPool: "pool forward",
  AveragePool: "pool forward",
  GlobalAveragePool: "pool forward",
  BatchNormalization: "batchnorm forward",
  Add: "add forward",
  Concat: "concat forward",
  LRN: "lrn forward",
  ReorderInput: "reorder",
  ReorderOutput: "reorder",
};

// {OPERATION: milliseconds of a step}, from a trace of ONNX Runtime's profiler: medians over the steps
// after the warm-up. A node has one event, inside that of its step.
function stagesOf(trace) {
  const steps = trace.filter((event) => event.name === "model_run").slice(2);
  const sums = {};
  steps.forEach((step, index) => {
    for (const { ts, dur, cat, args } of trace) {
      if (cat !== "Node" || !args.op_name || ts < step.ts || ts >= step.ts + step.dur) continue;
      const operation = OPERATIONS[args.op_name] || args.op_name;
      sums[operation] = sums[operation] || steps.map(() => 0);
      sums[operation][index] += dur / 1e3;
    }
  });
  return Object.fromEntries(Object.entries(sums).map(([name, each]) => [name, median(each)]));
}

// Runs the step again under ONNX Runtime's profiler, which writes a file at the end.
async function profile(ort, task, options, feeds) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "topdnn-"));
  try {
    const files = { enableProfiling: true, profileFilePrefix: path.join(folder, "profile") };
    const session = await open(ort, task, { ...options, ...files });
    await medianMs(() => session.run(feeds), task);
    session.endProfiling();
    await session.release();
    const [file] = fs.readdirSync(folder);
    return stagesOf(JSON.parse(fs.readFileSync(path.join(folder, file))));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

async function timeModes(ort, task) {
  if (task.pass !== "infer" || task.type !== "f32") return { modes: {}, stages: {} };
  const shape = [task.batch, 3, task.side, task.side];
  const images = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => Math.random());
  const modes = {};
  const stages = {};
  for (const [mode, options] of Object.entries(stepModes(task.batch))) {
    if (task.modes && !task.modes.includes(mode)) continue;
    const session = await open(ort, task, options);
    const feeds = { [session.inputNames[0]]: new ort.Tensor("float32", images, shape) };
    const result = Object.values(await session.run(feeds))[0];
    if (result.dims[0] !== task.batch || !result.data.every(Number.isFinite)) {
      throw new Error(`${task.network} gave no scores of ${task.batch} images`);
    }
    modes[mode] = await medianMs(() => session.run(feeds), task);
    await session.release();
    if (task.stages) stages[mode] = await profile(ort, task, options, feeds);
  }
  return { modes, stages };
}

// The data of a .npy file of version 1: a header whose length is at byte 8, then the elements.
function readNpy(file) {
  const bytes = fs.readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset + 10 + bytes.readUInt16LE(8)));
}

async function firstResult(ort, task) {
  const session = await open(ort, task, { graphOptimizationLevel: task.modes[0] });
  const image = new ort.Tensor("float32", readNpy(task.image), [1, 3, task.side, task.side]);
  const result = await session.run({ [session.inputNames[0]]: image });
  return { scores: Array.from(Object.values(result)[0].data) };
}

async function main() {
  let ort;
  try {
    ort = load();
  } catch (error) {
    return { absent: error.message.split("\n")[0] };
  }
  if (process.argv[2] === "--version") {
    return { framework: `ONNX Runtime ${ort.env.versions.node || ort.env.versions.common}` };
  }
  const task = JSON.parse(process.argv[2]);
  return task.pass === "first" ? firstResult(ort, task) : timeModes(ort, task);
}

main().then(
  (answer) => console.log(JSON.stringify(answer)),
  (error) => {
    console.error(error.message);
    process.exitCode = 1;
  },
);
