import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { RunLine } from '../../src/api/views/run.ts'
import type { TurnLine } from '../../src/api/views/turn.ts'
import { type ProviderRule, startProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'
import { runInProcess } from './in-process.ts'
import { InterruptedSignals } from './interrupted-signals.ts'
import { steady } from './steady.ts'

/** `heddle open` would start daemons that outlive the test. */
const noPage = 'http: { enabled: false }\n'

const places = ['home', 'folder', 'elsewhere']

/** What a call in the prepared home can name. */
export type Facts = Record<'TURN' | 'RUN' | 'LIVE' | 'HASH' | 'URL' | 'CURSOR' | 'TAIL', string>

export interface Said {
  code: number
  out: string
  err: string
}

/** A home with some of everything, which is put back as it was after a command that changed it. */
export interface FuzzHome {
  facts: Facts
  /** One command; `interrupted`: it is told to stop as soon as it can be. */
  run(args: string[], options?: { input?: string; interrupted?: boolean }): Promise<Said>
  /** Every row and every file, so that equal texts mean that nothing was changed. */
  state(): string
  /** The state of the prepared home. */
  before: string
  putBack(): void
  /** Texts without what differs from run to run. */
  steady(text: string): string
  remove(): Promise<void>
}

export async function prepareFuzzHome(): Promise<FuzzHome> {
  const heddle = newHeddle({ agent: null })
  const { home, folder } = heddle
  const root = join(home, '..')
  const provider = await startProvider({ answer: capable, serves: ['tiny', 'other'] })
  const facts = { ...(await fill(heddle, provider.url)), URL: provider.url }
  const kept = join(root, 'kept')
  for (const place of places) cpSync(join(root, place), join(kept, place), { recursive: true })
  const before = stateOf(root)
  // To look at every row takes longer than most commands: only where a file was touched.
  let untouched = marksOf(root)
  const state = () => {
    const marks = marksOf(root)
    if (marks === untouched) return before
    const now = stateOf(root)
    if (now === before) untouched = marks
    return now
  }
  return {
    facts,
    before,
    state,
    run: (args, { input = '', interrupted = false } = {}) =>
      runInProcess(args, {
        env: { PATH: process.env['PATH'], HOME: root, HEDDLE_HOME: home, EDITOR: 'true' },
        cwd: folder,
        input,
        ...(interrupted && { signals: new InterruptedSignals() }),
      }),
    putBack: () => {
      for (const name of readdirSync(root)) if (name !== 'kept') rmSync(join(root, name), { recursive: true })
      for (const place of places) cpSync(join(kept, place), join(root, place), { recursive: true })
      untouched = marksOf(root)
    },
    steady: (text) =>
      steady(text, heddle)
        .replace(/\bhdl_[\w-]{43}/g, 'TOKEN')
        .replace(/\b[0-9a-f]{12,64}\b/g, 'HASH')
        .replace(/\b1[0-9]{12}\b/g, '0')
        .replace(/"(?:\w*[sS]econds|\w*Ms|took)":[\d.]+/g, '')
        .replace(/\d+(?:\.\d+)? ?m?s\b/g, '0 s'),
    remove: async () => {
      await provider.close()
      heddle.remove()
    },
  }
}

/** Passes a trial. */
const capable: ProviderRule = ({ messages }) => {
  const asked = messages.at(-1)?.content ?? ''
  if (asked.startsWith('Call the tool')) return { calls: [{ name: 'note', input: { word: 'heddle' } }] }
  return { text: asked.length > 2000 ? 'read' : 'one two three four five six seven eight nine ten' }
}

/** Sessions with a fork and a compaction, a plan that is done and one that waits for a yes, memories, agents, a persona. */
async function fill({ home, folder, run, runWith, json }: TestHeddle, url: string): Promise<Omit<Facts, 'URL'>> {
  await run('init')
  const model = `models:\n  tiny: { provider: openai-compatible, baseURL: "${url}", model: tiny }\n`
  writeFileSync(join(home, 'heddle.yaml'), `${model}agent: { model: rehearsal }\n${noPage}`)
  const elsewhere = join(home, '../elsewhere')
  for (const place of [folder, elsewhere]) {
    mkdirSync(join(place, 'src'), { recursive: true })
    writeFileSync(join(place, 'src/one.ts'), 'export const one = 1 // TODO\n')
  }
  writeFileSync(join(folder, 'soul.md'), 'You are calm.\n')
  writeFileSync(join(folder, 'other.yaml'), `${model}agents: { maxConcurrent: 7 }\n${noPage}`)
  const { turnId } = await json<{ turnId: string }>('append', '--user', 'which port?', '--assistant', '8080')
  await run('append', '--user', 'and in production?', '--assistant', '443')
  await run('append', '--assistant', 'ports 8080 and 443', '--compact-to', '1')
  await run('append', '--user', 'why not 80?', '--assistant', 'TLS')
  await run('fork', turnId, '--as', 'second-try')
  await run('append', '-s', 'second-try', '--user', 'ipv6?', '--assistant', 'not yet')
  await run('fork', 'main', '--as', 'later')
  await run('append', '-s', 'later', '--user', 'and 81?', '--assistant', 'no')
  await run('append', '-s', 'old', '--user', 'x', '--assistant', 'y')
  await run('sessions', 'archive', 'old')
  await run('personas', 'set', 'atlas', '--name', 'Atlas', '--deny', 'exec')
  await run('users', 'add', 'mia', '--role', 'operator')
  await run('tokens', 'create', '--user', 'mia')
  await run('memory', 'add', 'the port is 8443', '--tag', 'web', '--keyword', 'socket')
  for (const said of ['releases are cut on Tuesdays', 'the port of staging is 9000']) await run('memory', 'add', said)
  await run('memory', 'export', 'memories.md')
  writeFileSync(join(folder, 'memories.md'), readFileSync(join(folder, 'memories.md'), 'utf8').replaceAll('is', 'was'))
  await run('memory', 'edit', '2', 'releases are cut on Fridays')
  await run('agents', 'new', 'release-notes')
  await run('agents', 'new', 'local', '--folder')
  await runWith({ input: 'value' }, 'secret', 'set', 'key')
  await runWith({ cwd: elsewhere }, 'ask', '-s', 'done', 'survey this folder and write a report')
  const approvals = async () => (await json<{ approvals: ApprovalView[] }>('approvals')).approvals
  const [first] = await approvals()
  await run('approve', '1', '--hash', first?.hash ?? '', '--scope', 'session')
  await run('ask', '-s', 'second-try', 'remember that milk is cold')
  await run('ask', '-s', 'later', 'remember that tea is hot')
  await run('ask', '-s', 'waits', 'survey this folder and write a report')
  const [second] = await approvals()
  await run('cron', 'add', '--every', '1h', '--message', 'what is new?')
  await run('cron', 'add', '--on', 'deploy.done', '--message', 'look at it')
  writeFileSync(join(folder, 'profile.json'), '{ "model": {}, "contextWindow": 9000 }')
  await run('profiles', 'set', 'profile:spare', '--file', 'profile.json')
  writeFileSync(join(folder, 'agents.json'), (await run('agents', 'export')).out.replace('"facts"', '"truth"'))
  for (const scope of ['--session', '--user', '--workspace', '--global']) await run('agents', 'pin', '@coder', scope)
  await run('backup', 'all.backup')
  writeFileSync(join(folder, 'turns.jsonl'), (await run('export', 'main')).out)
  const { runs } = await json<{ runs: RunLine[] }>('ps', '--all')
  const { turns } = await json<{ turns: TurnLine[] }>('log', '--all')
  const { events } = await json<{ events: { cursor: string }[] }>('event')
  return {
    TURN: `turn:${turnId}`,
    RUN: `run:${runs.find(({ agent, state }) => agent === 'writer' && state === 'completed')?.id}`,
    LIVE: `run:${second?.runId}`,
    HASH: second?.hash ?? '',
    CURSOR: events[0]?.cursor ?? '',
    TAIL: `turn:${sharedEnd(turns.map(({ id }) => id))}`,
  }
}

/** The end of at least two of these ids. */
function sharedEnd(ids: string[]): string {
  const ends = ids.map((id) => id.slice(-1))
  return ends.find((end, at) => ends.indexOf(end) !== at) ?? ''
}

/** When each file was changed last, and how large it is. */
function marksOf(root: string): string {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(({ parentPath }) => !parentPath.startsWith(join(root, 'kept')))
    .map(({ parentPath, name }) => {
      const { mtimeNs, size } = lstatSync(join(parentPath, name), { bigint: true })
      return `${parentPath}/${name} ${mtimeNs} ${size}`
    })
    .join('\n')
}

/** Processes come and go without doing anything else: their rows and locks are left out. */
const passing = new Set(['owners'])

function stateOf(root: string): string {
  const files = places.flatMap((place) => filesBelow(root, join(root, place)))
  const others = readdirSync(root).filter((name) => !['kept', ...places].includes(name))
  return [...rowsOf(join(root, 'home/heddle.db')), ...files.sort(), ...others].join('\n')
}

function rowsOf(file: string): string[] {
  if (!existsSync(file)) return ['no database']
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`).all()
    return tables
      .map(({ name }) => String(name))
      .filter((name) => !passing.has(name))
      .flatMap((name) =>
        db
          .prepare(`SELECT * FROM "${name}"`)
          .all()
          // The number of an audit line whose change was refused is not used again.
          .filter((row) => name !== 'sqlite_sequence' || row['name'] !== 'audit')
          .map((row) => `${name} ${JSON.stringify(row)}`),
      )
  } finally {
    db.close()
  }
}

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return [`${relative(root, path)}/`, ...filesBelow(root, path)]
    if (!entry.isFile() || /^heddle\.db/.test(entry.name)) return []
    return [`${relative(root, path)} ${readFileSync(path, 'latin1')}`]
  })
}
