// A stricter gate over @modelcontextprotocol/conformance than the suite's own exit code.
//
//   strict.mjs <client|server> <revision> <command-or-url> [--only PREFIX,PREFIX] [--out DIR]
//
// Runs in the folder that holds node_modules, under Node 22. A scenario is below the bar when it has a FAILURE, a WARNING,
// a timeout, an unexpected client exit code, or lacks a check that every reference implementation earned (floors.json):
// a client that does nothing "passes" several negative scenarios.
//
// expected-failures.txt is the baseline. An unlisted failure and a listed pass both fail the run, so that the list is always
// what it says; this holds for the scenarios that the suite does not score, too.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// The packages lie beside the caller, not beside this file.
const { parse } = createRequire(join(process.cwd(), 'x.js'))('yaml');
const SUITE = 'node_modules/@modelcontextprotocol/conformance';
const SIDE_BY_SIDE = 2;
const CLIENT_LIMIT_MS = 20_000;
const SCENARIO_LIMIT_MS = 120_000;
// Measures a reconnect to within 250 ms: a busy machine would fail it.
const ALONE = new Set(['sse-retry']);
// Scenarios whose correct outcome is an error, so that a non-zero client exit is right.
const MUST_REFUSE =
  /^auth\/(iss-(supported-missing|wrong-issuer|unexpected|normalized)|metadata-issuer-mismatch|resource-mismatch|scope-retry-limit)$/;
const MAY_REFUSE = /^http-invalid-tool-headers$/;

const { leg, revision, target, prefixes, out } = readArguments();
const beside = name => readFileSync(new URL(name, import.meta.url), 'utf8');
const floors = JSON.parse(beside('floors.json'));
const expected = readExpected(beside('expected-failures.txt'));
const known = readScenarios();
const jobs = known.filter(job => prefixes.length === 0 || prefixes.some(p => job.name.startsWith(p)));

const rows = [];
await inParallel(jobs.filter(job => !ALONE.has(job.name)), SIDE_BY_SIDE);
await inParallel(jobs.filter(job => ALONE.has(job.name)), 1);
finish();

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { only: { type: 'string', default: '' }, out: { type: 'string', default: 'out' } },
  });
  const [leg, revision, target] = positionals;
  if (!['client', 'server'].includes(leg) || !revision || !target) {
    console.error('usage: strict.mjs <client|server> <revision> <command-or-url> [--only PREFIX,PREFIX] [--out DIR]');
    process.exit(2);
  }
  return { leg, revision, target, prefixes: values.only.split(',').filter(Boolean), out: values.out };
}

// Lines: leg, revision, scenario, optional comment after #.
function readExpected(text) {
  const names = new Set();
  for (const line of text.split('\n')) {
    const [l, r, scenario] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (l === leg && r === revision) names.add(scenario);
  }
  return names;
}

function readScenarios() {
  const set = parse(readFileSync(`${SUITE}/requirements/${revision}.yaml`, 'utf8'));
  const unscored = set.not_scored.filter(entry => entry.leg === leg);
  return [
    ...set[leg].map(name => ({ name, kind: 'scored' })),
    ...unscored.map(entry => ({ name: entry.scenario, kind: entry.reason })),
  ];
}

async function inParallel(queue, workers) {
  const work = [...queue];
  const worker = async () => {
    for (let job = work.shift(); job; job = work.shift()) report(await runScenario(job));
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

async function runScenario({ name, kind }) {
  const folder = join(out, leg, revision, name.replaceAll('/', '_'));
  rmSync(folder, { recursive: true, force: true });
  const peer = leg === 'client' ? ['--command', target, '--timeout', String(CLIENT_LIMIT_MS)] : ['--url', target];
  const started = Date.now();
  const text = await suite([leg, ...peer, '--scenario', name, '--spec-version', revision, '--force', '-o', folder]);
  const checks = readChecks(folder);
  return { name, kind, ms: Date.now() - started, checks, why: judge(name, checks, text) };
}

// Output of the suite. It is started in a group of its own, so that a scenario over its limit leaves no mock behind.
function suite(args) {
  return new Promise(resolve => {
    const child = spawn(process.execPath, [`${SUITE}/dist/index.js`, ...args], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    const limit = setTimeout(() => {
      text += '\nscenario timed out';
      process.kill(-child.pid, 'SIGKILL');
    }, SCENARIO_LIMIT_MS);
    child.stdout.on('data', chunk => (text += chunk));
    child.stderr.on('data', chunk => (text += chunk));
    child.on('error', error => (text += error.message));
    child.on('close', () => {
      clearTimeout(limit);
      resolve(text);
    });
  });
}

function readChecks(folder) {
  try {
    const file = readdirSync(folder, { recursive: true }).find(path => path.endsWith('checks.json'));
    return JSON.parse(readFileSync(join(folder, file), 'utf8'));
  } catch {
    return []; // none written
  }
}

// Reasons why a scenario is below the bar; none when it passes.
function judge(name, checks, text) {
  const why = checks.length === 0 ? ['no checks written'] : [];
  for (const check of checks) {
    if (check.status === 'FAILURE') why.push(`${check.id}: ${(check.errorMessage ?? check.description ?? '').slice(0, 140)}`);
    if (check.status === 'WARNING') why.push(`warning ${check.id}`);
  }
  if (/timed out/i.test(text)) why.push('timeout');
  const exit = Number(text.match(/Client exited with code (-?\d+)/)?.[1] ?? 0);
  if (exit !== 0 && !MUST_REFUSE.test(name) && !MAY_REFUSE.test(name)) why.push(`client exit ${exit}`);
  if (leg === 'client' && exit === 0 && MUST_REFUSE.test(name)) why.push('client reported success where it must refuse');
  const passed = checks.filter(check => check.status === 'SUCCESS').map(check => check.id);
  const missing = (floors[leg]?.[revision]?.[name] ?? []).filter(id => !passed.includes(id));
  if (missing.length > 0) why.push(`not reached: ${missing.join(' ')}`);
  const least = floors.minSuccess?.[leg]?.[name] ?? 0;
  if (passed.length < least) why.push(`${passed.length} successes, at least ${least} wanted`);
  return why;
}

function report(row) {
  const failed = row.why.length > 0;
  row.ok = !failed;
  row.wanted = failed === expected.has(row.name);
  row.verdict = failed ? (row.wanted ? 'expected failure' : 'FAIL') : row.wanted ? 'ok' : 'LISTED BUT PASSES';
  rows.push(row);
  const passed = row.checks.filter(check => check.status === 'SUCCESS').length;
  const reasons = failed && !row.wanted ? ` | ${row.why.join(' | ')}` : ''; // of the expected ones in out/*.json
  console.log(`${row.verdict.padEnd(17)} ${row.name} [${row.kind}] ${passed} checks, ${row.ms} ms${reasons}`);
}

function finish() {
  const count = scored => {
    const some = rows.filter(row => (row.kind === 'scored') === scored);
    return `${some.filter(row => row.ok).length}/${some.length}`;
  };
  const strangers = [...expected].filter(name => !known.some(job => job.name === name));
  for (const name of strangers) console.log(`expected-failures.txt: no scenario ${leg} ${revision} ${name}`);
  console.log(`\n${leg} ${revision}: scored ${count(true)}, not scored ${count(false)}`);
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, `${leg}-${revision}.json`), JSON.stringify(rows, null, 1));
  const good = (rows.length > 0 || prefixes.length > 0) && strangers.length === 0 && rows.every(row => row.wanted);
  process.exit(good ? 0 : 1);
}
