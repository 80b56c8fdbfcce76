import type { Argument, Command, Option } from 'commander'
import type { ActionRunner } from '../../src/cli/command.ts'
import { commandsFor } from '../../src/cli/commands.ts'
import { newProgram } from '../../src/cli/main.ts'
import type { Facts } from './fuzz-home.ts'

/** Something that can be added to a call: an option, or an argument that may be left out. */
export interface Addition {
  name: string
  /** With a value that makes sense in the prepared home. */
  words: string[]
  isArgument: boolean
  option?: Option
}

/** One command as it is registered, with a call of it that works in the prepared home. */
export interface Called {
  name: string
  path: string[]
  /** What it cannot do without, in order. */
  needed: string[]
  /** Each with its value. */
  neededOptions: string[][]
  additions: Addition[]
  options: readonly Option[]
  maxArguments: number
  input: string
}

/**
 * The arguments of a command that does something here, those that may be left out included where it would do nothing; a
 * word in capitals is a fact of the prepared home.
 */
const needs: Record<string, string[]> = {
  ask: ['what do we know about the port?'],
  show: ['TURN'],
  why: ['TURN'],
  cancel: ['LIVE'],
  retry: ['RUN'],
  approve: ['2'],
  deny: ['2'],
  'grants revoke': ['1'],
  'git trust': ['sub/.git'],
  undo: ['RUN'],
  'sessions rename': ['main', 'other'],
  'sessions archive': ['main'],
  'sessions restore': ['old'],
  fork: ['TURN'],
  diff: ['main', 'second-try'],
  'config get': ['agents.maxConcurrent'],
  'config set': ['agents.maxConcurrent', '5'],
  'agents show': ['coder'],
  'agents new': ['somebody'],
  'agents edit': ['release-notes'],
  'agents test': ['researcher'],
  'agents trust': ['local'],
  'agents register': ['@poet'],
  'agents unregister': ['@researcher'],
  'agents apply': ['agents.json'],
  'agents pin': ['@writer'],
  'profiles show': ['profile:writer:v1'],
  'profiles set': ['profile:mine'],
  'profiles rm': ['profile:spare'],
  'profiles history': ['profile:writer:v1'],
  'models add': ['URL'],
  'models use': ['tiny'],
  'models test': ['tiny'],
  'models show': ['tiny'],
  search: ['port'],
  'memory search': ['which port?'],
  'memory show': ['1'],
  'memory add': ['milk is white'],
  'memory edit': ['1', 'the port is 9090'],
  'memory forget': ['4'],
  'memory import': ['memories.md'],
  'secret set': ['key'],
  'secret rm': ['key'],
  'tasks skip': ['task:6'],
  'tasks edit': ['task:6'],
  'personas set': ['hermes'],
  'sessions prompt': ['main', 'be brief'],
  'memory trust': ['1'],
  'subagent show': ['RUN'],
  'subagent cancel': ['LIVE'],
  'cron edit': ['1'],
  'cron rm': ['1'],
  'cron enable': ['1'],
  'cron disable': ['1'],
  'cron run': ['1'],
  'cron resend': ['1'],
  'event emit': ['deploy.done'],
  'users add': ['eve'],
  'users set': ['mia'],
  'users rm': ['mia'],
  'tokens revoke': ['1'],
  backup: ['more.backup'],
  restore: ['all.backup'],
  import: ['turns.jsonl'],
}

/** Options without which a command does nothing here. */
const withOptions: Record<string, string[]> = {
  approve: ['--hash', 'HASH'],
  append: ['--user', 'hello'],
  'agents trust': ['--yes'],
  'models add': ['--model', 'tiny'],
  'tasks edit': ['--agent', 'coder'],
  'users set': ['--role', 'admin'],
  'tokens create': ['--user', 'mia'],
  'cron add': ['--every', '1h', '--message', 'what is new?'],
  'cron edit': ['--every', '2h'],
}

/** Options and arguments with a value that makes sense, those of one command before those of all. */
const usual: Record<string, string> = {
  'chat [agent]': 'general',
  'help [command]': 'ask',
  'watch [ref]': 'session:second-try',
  'log [session-or-turn]': 'later',
  'agents list [name]': 'coder',
  'agents check [what]': 'coder',
  'plans [plan]': '1',
  'memory list [memory]': '1',
  'memory export [file]': 'more.md',
  'export [session]': 'second-try',
  'models add --model': 'tiny',
  'models add --name': 'another',
  'append --model': 'tiny',
  'personas set --model': 'tiny',
  'tokens create --user': 'mia',
  'open --user': 'mia',
  '--port': '0',
  'tokens create --scope': 'ask,read',
  'ask --session': 'second-try',
  'ask --agent': 'general',
  'tasks edit --agent': 'coder',
  'agents register --profile': 'profile:writer:v1',
  'profiles set --file': 'profile.json',
  '--expect': '1',
  'profiles set --expect': '0',
  '--description': 'Writes poems.',
  '--tags': 'verse,rhyme',
  '--skills': 'writer',
  '--mcp-servers': 'docs',
  '--session': 'second-try',
  '--kind': 'turn',
  '--model': 'tiny',
  '--agent': 'general',
  '--file': 'soul.md',
  '--from': 'TURN',
  '--timeout': '20',
  '--on-approval': 'deny',
  '--by': 'session',
  '--reason': 'enough',
  '--scope': 'session',
  '--hash': 'HASH',
  '--as': 'third',
  '--persona': 'atlas',
  '--limit': '1',
  '--base-url': 'URL',
  '--key-env': 'HOME',
  '--key': '-',
  '--window': '4096',
  '--tag': 'net',
  '--keyword': 'listener',
  '--plan': '1',
  '--status': 'running',
  '--brief-file': 'soul.md',
  '--user': 'hello',
  '--assistant': 'hi',
  '--parent': 'TURN',
  '--source': 'cron',
  '--system-prompt': 'be brief',
  '--compact-to': '1',
  '--name': 'Hermes',
  '--soul': 'soul.md',
  '--emoji': '!',
  '--allow': 'read_file',
  '--deny': 'write_file',
  '--ask': 'exec',
  '--after': 'CURSOR',
  '--role': 'operator',
  '--tools': 'read_file',
  '--folder': 'src',
  '--per-day-usd': '2.5',
  '--expires': '30d',
  '--think': 'low',
  '--sandbox': 'network=false',
  '--credentials': 'HOME',
  '--max-tokens': '500',
  '--temperature': '0.5',
  'cron history [id]': '1',
  'cron add --session': 'isolated',
  'cron edit --session': 'isolated',
  '--at': 'in 20 min',
  '--every': '2h',
  '--cron': '30 8 * * 1-5',
  '--on': 'deploy.done',
  '--tz': 'Europe/Berlin',
  '--active': '08:00-22:00',
  '--message': 'hello',
  '--event': 'news',
  '--deliver': 'session:main',
  '--missed': 'skip',
  '--cleanup': 'keep',
  '--max-failures': '3',
  '--data': 'more',
  '--home': 'elsewhere',
  '--config': 'other.yaml',
}

const inputs: Record<string, string> = { chat: 'hello\n', 'secret set': 'secret\n', 'models add': 'secret\n' }

/** A program with every command, for looking at. */
export async function wholeProgram(): Promise<Command> {
  const program = newProgram(() => undefined)
  const run: ActionRunner = () => async () => undefined
  for (const register of await commandsFor([])) register(program, run)
  return program
}

/** Every command that does something, with all that can be said to it. */
export function calledCommands(program: Command, facts: Facts): Called[] {
  const told = (word: string) => (Object.hasOwn(facts, word) ? facts[word as keyof Facts] : word)
  const inside = (command: Command, path: string[]): Called[] => {
    const below = command.commands.flatMap((each) => inside(each, [...path, each.name()]))
    // One that has commands and does nothing itself stands for its default.
    const isAsked = path.length > 0 && (command.commands.length === 0 || hasAction(command))
    return isAsked ? [calledAs(command, path, told), ...below] : below
  }
  return inside(program, [])
}

function calledAs(command: Command, path: string[], told: (word: string) => string): Called {
  const name = path.join(' ')
  const args = command.registeredArguments
  const needed = needs[name] ?? []
  if (args.some(({ required }, at) => required && at >= needed.length))
    throw new Error(`say in fuzz-calls.ts what ${name} needs`)
  const isMandatory = ({ mandatory }: Option) => mandatory
  return {
    name,
    path,
    needed: needed.map(told),
    neededOptions: [
      ...command.options.filter(isMandatory).map((each) => optionOf(name, each, told).words),
      ...(withOptions[name] ? [withOptions[name].map(told)] : []),
    ],
    additions: [
      ...args.slice(needed.length).map((each) => argumentOf(name, each, told)),
      ...command.options.filter((each) => !isMandatory(each)).map((each) => optionOf(name, each, told)),
    ],
    options: command.options,
    maxArguments: args.some(({ variadic }) => variadic) ? Number.POSITIVE_INFINITY : args.length,
    input: inputs[name] ?? '',
  }
}

function argumentOf(command: string, argument: Argument, told: (word: string) => string): Addition {
  return {
    name: `[${argument.name()}]`,
    words: [valueFor(command, `[${argument.name()}]`, told)],
    isArgument: true,
  }
}

export function optionOf(command: string, option: Option, told: (word: string) => string): Addition {
  const flag = option.long ?? option.flags
  const value = option.required ? [valueFor(command, flag, told)] : []
  return { name: flag, words: [flag, ...value], isArgument: false, option }
}

function valueFor(command: string, name: string, told: (word: string) => string): string {
  const value = usual[`${command} ${name}`] ?? usual[name]
  if (value === undefined) throw new Error(`say in fuzz-calls.ts what ${name} of ${command} can be`)
  return told(value)
}

/** Whether an option keeps all of its values. */
export function isRepeatable({ variadic, parseArg }: Option): boolean {
  return variadic || parseArg !== undefined
}

function hasAction(command: Command): boolean {
  return (command as unknown as { _actionHandler: unknown })._actionHandler !== null
}

/** Values that nobody means: as counts, names, references, paths or texts. */
export function meaninglessValues(facts: Facts): string[] {
  return [
    ...['', '  ', '-1', '0', '1.5', 'NaN', '1e999', '9007199254740993', '0x10', '1,2'],
    ...['nosuch', '@nosuch', 'turn:zzzzzz', 'run:zzzzzz', 'memory:999', 'plan:99', 'task:', facts.TAIL],
    ...[facts.TURN, facts.RUN, 'session:main', 'persona:atlas', 'approval:1', 'result:1', 'narrative:1'],
    ...['nosuch/file.md', '.', 'src', '/dev/null', '../../etc/passwd', 'soul.md/x'],
    ...['\0', 'a\0b', '\ud800', '\u001b[2J', '__proto__', 'constructor', '--', '--json', '-x', 'x'.repeat(100_000)],
  ]
}

/** Parts of a command line; `options` are flags with their values. */
export interface Parts {
  called: Called
  options: string[][]
  args: string[]
}

/** A command line; what begins with a dash and is an argument goes behind `--`. */
export function lineOf({ called, options, args }: Parts): string[] {
  const flags = options.flat()
  const mustSeparate = args.some((word) => word.startsWith('-'))
  return [...called.path, ...(mustSeparate ? [...flags, '--', ...args] : [...args, ...flags])]
}

/** The usual call with these additions; an option that is added takes the place of the usual one. */
export function partsWith(called: Called, additions: readonly Addition[]): Parts {
  const options = additions.filter(({ isArgument }) => !isArgument).map(({ words }) => words)
  const defaultOnes = called.neededOptions.filter(([flag]) => !options.some(([other]) => other === flag))
  const args = additions.filter(({ isArgument }) => isArgument).flatMap(({ words }) => words)
  return { called, options: [...defaultOnes, ...options], args: [...called.needed, ...args] }
}
