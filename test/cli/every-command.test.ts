import { Command } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ActionRunner } from '../../src/cli/command.ts'
import { commandsFor } from '../../src/cli/commands.ts'
import { newProgram } from '../../src/cli/main.ts'
import { inTurn } from '../setup/long.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'
import { steady } from './steady.ts'

/** How each command is called: most other tests run commands in their own process, so each is started here, in its turn. */
const calls: Record<string, string[]> = {
  chat: ['chat', '--model', 'gone'],
  ask: ['ask', 'which port?'],
  status: ['status'],
  help: ['help', 'ask'],
  watch: ['watch', 'run:zzzzzz'],
  show: ['show', 'session:main'],
  why: ['why', 'notes.md:1'],
  ps: ['ps', '--all'],
  usage: ['usage'],
  cancel: ['cancel', 'run:zzzzzz'],
  retry: ['retry', 'run:zzzzzz'],
  approvals: ['approvals'],
  approve: ['approve', '7'],
  deny: ['deny', '7'],
  grants: ['grants'],
  git: ['git'],
  undo: ['undo', 'run:zzzzzz'],
  sessions: ['sessions'],
  fork: ['fork', 'main', '--as', 'other'],
  log: ['log'],
  diff: ['diff', 'main', 'other'],
  search: ['search', 'port'],
  down: ['down'],
  config: ['config', 'get', 'agents.maxConcurrent'],
  doctor: ['doctor'],
  agents: ['agents'],
  plans: ['plans'],
  cron: ['cron', 'add', '--every', 'month', '--message', 'x'],
  models: ['models'],
  memory: ['memory'],
  secret: ['secret', 'set', 'other'],
  init: ['init'],
  tasks: ['tasks'],
  results: ['results'],
  subagent: ['subagent', 'history'],
  append: ['append', '--user', 'one', '--assistant', 'two'],
  personas: ['personas'],
  profiles: ['profiles'],
  users: ['users'],
  tokens: ['tokens'],
  audit: ['audit'],
  backup: ['backup', 'all.backup'],
  restore: ['restore', 'all.backup'],
  export: ['export'],
  import: ['import', 'gone.jsonl'],
  event: ['event', '--limit', '1'],
  gc: ['gc'],
  dev: ['dev', 'crash-points'],
}

let started: TestHeddle
let within: TestHeddle
beforeAll(async () => {
  ;[started, within] = [newHeddle(), newHeddle()]
  for (const heddle of [started, within]) await heddle.run('append', '--user', 'hello', '--assistant', 'hi')
})
afterAll(() => {
  started.remove()
  within.remove()
})

test('every command is called below', async () => {
  const program = new Command('heddle')
  const run: ActionRunner = () => async () => undefined
  for (const register of await commandsFor([])) register(program, run)
  // A daemon is a process of its own in every test that has one, and `open` starts one.
  const others = program.commands.map((command) => command.name()).filter((name) => !['up', 'open'].includes(name))
  expect(Object.keys(calls).toSorted()).toEqual(others.toSorted())
})

test('the help of every command fits 80 columns', async () => {
  const shown: string[] = []
  const program = newProgram((text) => void shown.push(text))
  for (const register of await commandsFor([])) register(program, () => async () => undefined)
  const showAll = (command: Command) => {
    command.outputHelp()
    for (const each of command.commands) showAll(each)
  }
  showAll(program)
  const lines = shown.join('').split('\n')
  expect(lines.length).toBeGreaterThan(500)
  expect(lines.filter((line) => line.length > 80)).toEqual([])
})

test.each(inTurn(Object.entries(calls), 8))('%s as a process says what it says within one', async (_name, args) => {
  const input = 'a line\n'
  const [alone, inside] = await Promise.all([
    started.runWith({ input, isProcess: true }, ...args),
    within.runWith({ input }, ...args),
  ])
  const said = ({ code, out, err }: typeof alone, heddle: TestHeddle) => [
    code,
    ...[out, err].map((text) => words(text, heddle)),
  ]
  expect(said(alone, started)).toEqual(said(inside, within))
  expect(alone.err).not.toContain('met a bug')
})

/** Without numbers, which times and sizes are, and the blanks that make room for them. */
function words(text: string, heddle: TestHeddle): string {
  return steady(text, heddle)
    .replace(/(?<=^cursor )\S+/m, '')
    .replace(/\d+/g, '0')
    .replace(/ +/g, ' ')
}
