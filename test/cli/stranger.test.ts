import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type ProviderRequest, type ProviderRule, startProvider } from '../../src/testing.ts'
import { oldNodes } from '../setup/old-nodes.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

// A chat of two requests, each with two agents and several commands in the sandbox.
vi.setConfig({ testTimeout: 180_000 })

const checkout = join(import.meta.dirname, '../..')
const edits = {
  fix: { path: 'src/sum.js', old_text: 'a - b', new_text: 'a + b' },
  document: { path: 'src/sum.js', old_text: 'export', new_text: '/** Adds. */\nexport' },
}
const runTests = 'node --version && npm test'
const commit = (message: string) => `git status --short && git commit -qam '${message}' && git log --format=%s`

/** A coordinator that has @coder do everything, and a @coder who tests, edits, tests again and commits. */
const play: ProviderRule = (request) => {
  const { messages } = request
  const answers = answersIn(request)
  if (request.tools.some(({ name }) => name === 'spawn_agent')) return coordinate(request)
  const task = messages.find(({ role }) => role === 'user')?.content ?? ''
  const [edit, message] = task.includes('document') ? [edits.document, 'Document sum'] : [edits.fix, 'Fix sum']
  const exec = (command: string) => ({ calls: [{ name: 'exec', input: { command } }] })
  switch (answers.length) {
    case 0:
      return exec(runTests)
    case 1:
      return { calls: [{ name: 'read_file', input: { path: edit.path } }] }
    case 2:
      return { calls: [{ name: 'edit_file', input: edit }] }
    case 3:
      return exec(runTests)
    case 4:
      return exec(commit(message))
    default:
      return {
        text: `${message}: ${/pass \d+/.exec(answers[3] ?? '')?.[0]}, ${/fail \d+/.exec(answers[3] ?? '')?.[0]}.`,
      }
  }
}

/** Gives the newest request to @coder, and passes on what comes of it. */
function coordinate({ messages }: ProviderRequest) {
  const heard = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  const news = heard.findLast((text) => /^(fix|and document)|sum: pass/.test(text)) ?? ''
  const result = /(Fix|Document) sum: pass \d+, fail \d+/.exec(news)?.[0]
  if (result !== undefined) return { text: `All done. ${result}` }
  const task = news.includes('document') ? 'document sum' : 'fix the failing test'
  return {
    calls: [
      { name: 'spawn_agent', input: { task, skill: 'coder' } },
      { name: 'wait', input: {} },
    ],
  }
}

const answersIn = ({ messages }: ProviderRequest) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content)

/** A project on Node 20, as somebody has it: a failing test, and a repository with one commit. */
function newProject({ folder }: TestHeddle): void {
  const files = {
    'package.json': '{ "type": "module", "scripts": { "test": "node --test" }, "engines": { "node": "20" } }\n',
    'src/sum.js': 'export const sum = (a, b) => a - b\n',
    'test/sum.test.js': [
      "import { test } from 'node:test'",
      "import assert from 'node:assert'",
      "import { sum } from '../src/sum.js'",
      "test('sum adds', () => assert.equal(sum(2, 3), 5))",
      "test('runs on Node 20', () => assert.match(process.version, /^v20\\./))\n",
    ].join('\n'),
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  git(folder, 'init', '-q')
  git(folder, 'config', 'user.name', 'Ada')
  git(folder, 'config', 'user.email', 'ada@example.org')
  git(folder, 'add', '.')
  git(folder, 'commit', '-qm', 'Begin')
}

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' })
}

/** The directory of a Node 20: one of this machine, or one in the user's home that passes for it. */
function node20(userHome: string): string {
  const versions = join(userHome, '.nvm/versions/node/v20.0.0')
  for (const each of ['bin', 'include/node', 'lib']) mkdirSync(join(versions, each), { recursive: true })
  const installed = oldNodes(join(versions, 'lib')).find(({ name }) => name.startsWith('Node v20.'))
  if (installed) return dirname(installed.command[0] ?? '')
  const disguise = join(versions, 'lib/disguise.cjs')
  writeFileSync(
    disguise,
    `${readFileSync(disguise, 'utf8')}\nObject.defineProperty(process, 'version', { value: 'v20.0.0' })\n`,
  )
  copyFileSync(process.execPath, join(versions, 'lib/node'))
  const script = `#!/bin/sh\n[ "$1" = --version ] && { echo v20.0.0; exit; }\nexec '${join(versions, 'lib/node')}' --require '${disguise}' "$@"\n`
  writeFileSync(join(versions, 'bin/node'), script, { mode: 0o755 })
  return join(versions, 'bin')
}

test('a stranger has a failing test of a Node 20 project fixed: asked once, tested on Node 20, with git intact', async () => {
  const heddle = newHeddle({ agent: null })
  onTestFinished(() => heddle.remove())
  const provider = await startProvider({ answer: play })
  onTestFinished(() => provider.close())
  newProject(heddle)
  await heddle.run('init')
  const model = `{ provider: openai-compatible, baseURL: "${provider.url}", model: tiny }`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: ${model}\nmemory: { narratives: false }\n`)

  // As npx starts it: its own package is in front of what the user has.
  const path = [join(checkout, 'node_modules/.bin'), node20(dirname(heddle.home)), process.env['PATH']].join(':')
  const terminal = heddle.terminalWith({ env: { PATH: path } }, 'chat')
  await terminal.shows('main>')
  terminal.type('fix the failing test\r')
  await terminal.shows('approval:1 y/s/a/n>')
  terminal.type('s\r')
  await terminal.shows('All done. Fix sum: pass 2, fail 0')
  await terminal.shows('main>')
  terminal.type('and document sum\r')
  const done = terminal.shows('All done. Document sum: pass 2, fail 0').then(() => terminal.shows('main>'))
  await Promise.race([done, terminal.shows('approval:2')])
  terminal.type('/quit\r')
  const { code, out } = await terminal.ended
  expect(out).not.toContain('approval:2')
  expect(out).toContain('All done. Document sum: pass 2, fail 0')
  expect(code).toBe(0)

  expect(git(heddle.folder, 'log', '--format=%an: %s')).toBe('Ada: Document sum\nAda: Fix sum\nAda: Begin\n')
  expect(git(heddle.folder, 'status', '--short')).toBe('')
  writeFileSync(join(heddle.folder, 'NOTES.md'), 'mine\n')
  git(heddle.folder, 'add', 'NOTES.md')
  git(heddle.folder, 'commit', '-qm', 'Add notes')
  expect(git(heddle.folder, 'fsck', '--strict')).toBe('')
})
