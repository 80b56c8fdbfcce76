import type { Command } from 'commander'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTurn } from '../setup/long.ts'
import {
  type Addition,
  type Called,
  calledCommands,
  isRepeatable,
  meaninglessValues,
  type Parts,
  partsWith,
  wholeProgram,
} from './fuzz-calls.ts'
import { type FuzzHome, prepareFuzzHome } from './fuzz-home.ts'
import { Judge } from './fuzz-judge.ts'

/** `FUZZ_ROUNDS=<number>`: every line there is, and so many made at random; otherwise a few for some commands a day. */
const rounds = process.env['FUZZ_ROUNDS']
const linesPerCommand = rounds === undefined ? 2 : Number.POSITIVE_INFINITY
const seed = Number(process.env['SEED'] ?? 1)
const forLong = { timeout: rounds === undefined ? 120_000 : 10 ** 9 }

/** The commands whose turn it is. */
function commandsToday(): Called[] {
  return rounds === undefined ? inTurn(commands, Math.ceil(commands.length / 10)) : commands
}

let home: FuzzHome
let program: Command
let commands: Called[]
let judge: Judge
beforeAll(async () => {
  home = await prepareFuzzHome()
  program = await wholeProgram()
  commands = calledCommands(program, home.facts)
  judge = new Judge(home)
}, 120_000)
afterAll(() => home.remove())

test('what is no command line is refused by every command, and nothing is changed', forLong, async () => {
  for (const called of commandsToday())
    for (const [parts, code] of chosen(wrongLines(called), 3 * linesPerCommand)) await judge.mustRefuse(parts, code)
  expect(judge.takeFailures()).toEqual([])
})

test('every option and every two of them are honoured, or refused', forLong, async () => {
  for (const called of commandsToday()) {
    const pairs = called.additions.flatMap((one, at) => called.additions.slice(at + 1).map((other) => [one, other]))
    const all = [...called.additions.map((each) => [each]), ...pairs]
    for (const some of chosen(all, linesPerCommand / 2)) await judge.mustHonour(called, some)
  }
  expect(judge.takeFailures()).toEqual([])
})

test('a value that nobody means is refused or does what it says', forLong, async () => {
  const values = meaninglessValues(home.facts)
  for (const called of commandsToday()) {
    const inOptions = called.options
      .filter(({ required }) => required)
      .flatMap((option) => values.map((value) => () => judge.mustHonour(called, [withValue(option.long ?? '', value)])))
    const inArguments = Array.from({ length: Math.min(called.maxArguments, 3) }, (_, at) =>
      values.map((value) => () => judge.mustHonourArgument(called, at, value)),
    ).flat()
    for (const line of chosen([...inOptions, ...inArguments], linesPerCommand / 2)) await line()
  }
  expect(judge.takeFailures()).toEqual([])
})

test('lines made at random are refused or do what they say', forLong, async () => {
  const values = fc.constantFrom(...meaninglessValues(home.facts))
  const line = fc.nat({ max: commands.length - 1 }).chain((at) => {
    const called = commands[at] as Called
    const addition = (each: Addition) =>
      each.words.length < (each.isArgument ? 1 : 2)
        ? fc.constant(each)
        : fc.oneof(
            fc.constant(each),
            values.map((value) => ({ ...each, words: [...each.words.slice(0, -1), value] })),
          )
    return fc.record({
      called: fc.constant(called),
      additions: fc.subarray(called.additions).chain((some) => fc.tuple(...some.map(addition))),
    })
  })
  const property = fc.asyncProperty(line, async ({ called, additions }) => {
    await judge.mustHonour(called, additions)
    const failures = judge.takeFailures()
    if (failures.length > 0) throw new Error(failures.join('\n'))
  })
  const found = await fc.check(property, { seed, numRuns: Number(rounds ?? 10) })
  if (found.failed) throw new Error(`SEED=${found.seed} npm run fuzz\n${found.errorInstance}`)
})

afterAll(() => console.log(`${judge.count} command lines, SEED=${seed}`))

/** Lines that cannot be meant, with the code that they must end with: 1 for what is not there, 2 for what is no line. */
function wrongLines(called: Called): [Parts, 1 | 2][] {
  const { options, args } = partsWith(called, [])
  const wrong = (more: Partial<Parts>): [Parts, 2] => [{ called, options, args, ...more }, 2]
  const besides = (...words: string[]) => wrong({ options: [...options, words] })
  const inOptions = called.options
    .filter(({ required }) => required)
    .flatMap((option) => {
      const flag = option.long ?? ''
      const others = options.filter(([other]) => other !== flag)
      const given = (...each: string[][]) => wrong({ options: [...others, ...each] })
      const twice = isRepeatable(option) ? [] : [given([flag, 'main'], [flag, 'other'])]
      return [given([flag]), given([flag, '--json']), given([flag, flag]), ...twice]
    })
  const required = requiredOf(called)
  return [
    besides('--no-such-option'),
    ...foreignFlags(called).map((flag) => besides(flag)),
    ...optionsOfParents(called).map((words) => besides(...words)),
    ...['nosuch.yaml', 'src'].map((file): [Parts, 1] => [
      { called, options: [['--config', file], ...options], args },
      1,
    ]),
    ...['', 'soul.md'].map((folder) => wrong({ options: [['--home', folder], ...options] })),
    ...(called.maxArguments < 10 ? [wrong({ args: [...args, ...restOf(called), 'main'] })] : []),
    ...(required > 0 ? [wrong({ args: args.slice(0, required - 1) })] : []),
    ...inOptions,
  ]
}

/** Options that only other commands have. */
function foreignFlags(called: Called): string[] {
  const own = [...called.options, ...program.options].map(({ long }) => long)
  const all = commands.flatMap(({ options }) => options.map(({ long }) => long ?? ''))
  return [...new Set(all)].filter((flag) => !own.includes(flag))
}

/** Some of them, the same for the same seed. */
function chosen<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all]
  return fc.sample(fc.shuffledSubarray([...all], { minLength: most, maxLength: most }), { seed, numRuns: 1 })[0] ?? []
}

function withValue(flag: string, value: string): Addition {
  return { name: flag, words: [flag, value], isArgument: false }
}

function requiredOf({ path }: Called): number {
  return commandAt(path).registeredArguments.filter(({ required }) => required).length
}

function restOf({ additions }: Called): string[] {
  return additions.filter(({ isArgument }) => isArgument).flatMap(({ words }) => words)
}

/** Options of the commands above it, which it has not itself. */
function optionsOfParents({ name, path, options }: Called): string[][] {
  const above = commands.filter((each) => name !== each.name && each.path.every((word, at) => word === path[at]))
  const words = above.flatMap(({ additions }) => additions.filter(({ isArgument }) => !isArgument))
  return words.filter((each) => !options.some(({ long }) => long === each.name)).map((each) => each.words)
}

function commandAt(path: readonly string[]): Command {
  return path.reduce((above, name) => above.commands.find((each) => each.name() === name) as Command, program)
}
