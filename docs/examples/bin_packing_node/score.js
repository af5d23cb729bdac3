#!/usr/bin/env node
// Score a heuristic for online bin packing. An evaluator can be any program that takes --root_dir and
// --file_output_prefix and prints the block below; what lies in the problem's folder lies beside it here, too.
"use strict";

const { spawn } = require("child_process");
const path = require("path");
const readline = require("readline");

const SIZES = { train: [100], val: [300] };
const INSTANCES = 5;
const CAPACITY = 100;

function arguments_() {
  const given = { mode: "val" };
  for (const word of process.argv.slice(2)) {
    const match = /^--(root_dir|file_output_prefix|mode|problem_size|candidate)=(.*)$/s.exec(word);
    if (!match) refuse(`unknown argument ${word}`);
    given[match[1]] = match[2];
  }
  if (!SIZES[given.mode]) refuse(`unknown mode ${given.mode}: choose one of ${Object.keys(SIZES).join(", ")}`);
  given.sizes = SIZES[given.mode];
  if (given.problem_size !== undefined) {
    if (!given.sizes.includes(Number(given.problem_size)))
      refuse(`unknown problem_size ${given.problem_size}: choose one of ${given.sizes.join(", ")}`);
    given.sizes = [Number(given.problem_size)];
  }
  return given;
}

function refuse(message) {
  process.stderr.write(`usage: score.js --mode=MODE --problem_size=N\nscore.js: error: ${message}\n`);
  process.exit(2);
}

function fail(status, message) {
  console.log("__SANDBOX_ERROR__\n" + JSON.stringify({ status, message: message.slice(0, 500), traceback: "" }));
  process.exit(1);
}

// Mulberry32: instances come from fixed seeds, so every candidate meets the same ones.
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

async function packed(items, ask) {
  const room = [];
  for (const item of items) {
    const fits = room.map((left, bin) => bin).filter((bin) => room[bin] >= item);
    const answer = await ask([item, [...fits.map((bin) => room[bin]), CAPACITY]]);
    if (!Array.isArray(answer) || answer.length !== fits.length + 1 || !answer.every(Number.isFinite))
      fail("invalid", `priority must return ${fits.length + 1} finite numbers`);
    const place = answer.indexOf(Math.max(...answer));
    if (place < fits.length) room[fits[place]] -= item;
    else room.push(CAPACITY - item);
  }
  return room.length;
}

async function main() {
  const given = arguments_();
  const child = spawn(process.env.ORAGENT_PYTHON || "python3", [path.join(__dirname, "ask.py")], { stdio: ["pipe", "pipe", "pipe"] });
  let log = "";
  child.stderr.on("data", (text) => (log = (log + text).slice(-4000)));
  child.stdin.on("error", () => {});
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (call) => {
    child.stdin.write(JSON.stringify(call) + "\n");
    const { value, done } = await lines.next();
    if (done) {
      await new Promise((end) => (child.exitCode === null ? child.on("close", end) : end()));
      process.stderr.write(log);
      fail("error", log.trim().split("\n").pop() || "the candidate ended its process");
    }
    try {
      return JSON.parse(value);
    } catch {
      return null;
    }
  };
  const metrics = {};
  for (const size of given.sizes) {
    const excess = [];
    for (let index = 0; index < INSTANCES; index++) {
      const draw = generator(1000 * size + 10 * index + (given.mode === "train" ? 1 : 2));
      const items = Array.from({ length: size }, () => 10 + Math.floor(draw() * 51));
      const bound = items.reduce((sum, item) => sum + item, 0) / CAPACITY;
      excess.push((await packed(items, ask)) / bound - 1);
    }
    metrics[`excess_${size}`] = excess.reduce((sum, value) => sum + value, 0) / INSTANCES;
  }
  const values = Object.values(metrics);
  const score = values.reduce((sum, value) => sum + value, 0) / values.length;
  console.log("__SANDBOX_RESULT__\n__METRICS_START__\n" + JSON.stringify(metrics) + "\n__METRICS_END__");
  console.log("__FEATURES_START__\nNone\n__FEATURES_END__");
  console.log(`__SCORE_START__\n${score}\n__SCORE_END__\n__SANDBOX_SUCCESS__`);
  child.kill();
  process.exit(0);
}

main();
