import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { findSocket } from '../src/gateway/socket-place.ts'
import { type Figure, measure, type Pairs, ratio } from './figures.ts'
import { chanceFrom } from './memory-facts.ts'
import type { Scratch } from './scratch.ts'

const files = 10_000
const rounds = { pairs: 12, warmUp: 2 }
const heddle = join(import.meta.dirname, '..', 'bin/heddle')
const goal = { atMost: 1.1 }

/** How much later a heddle is there because ten thousand notes wait to be taken in. */
export async function memoryStartup(scratch: Scratch): Promise<Figure[]> {
  scratch.say(`starting with ${files} files to index, and without`)
  const place = join(scratch.directory, 'startup')
  const [full, empty] = [join(place, 'full'), join(place, 'empty')]
  mkdirSync(join(place, 'folder'), { recursive: true })
  for (const home of [full, empty]) await ask(home)
  writeNotes(join(full, 'memory'))
  const asked = await alternately(
    full,
    () => ask(full),
    () => ask(empty),
  )
  const upped = await alternately(
    full,
    () => up(full),
    () => up(empty),
  )
  rmSync(place, { recursive: true })
  const sides: [string, string] = [`${files} files`, 'none']
  const more = 'each a process of its own, no file indexed before'
  return [
    ratio(`heddle ask with ${files} files to index over without`, goal, asked, sides, more),
    ratio(`heddle up until it answers, with ${files} files to index over without`, goal, upped, sides, more),
  ]
}

type Run = () => Promise<Ending>
/** What is left to do, and not measured. */
type Ending = () => Promise<void>

/** Both in turn, each first every other time; what one has taken in is forgotten before the next. */
async function alternately(home: string, ours: Run, floor: Run): Promise<Pairs> {
  const pairs: Pairs = { ours: [], floor: [] }
  for (let round = 0; round < rounds.warmUp + rounds.pairs; round++)
    for (const side of round % 2 === 0 ? (['ours', 'floor'] as const) : (['floor', 'ours'] as const)) {
      forget(home)
      let end: Ending = async () => undefined
      const time = await measure(async () => {
        end = await (side === 'ours' ? ours() : floor())
      })
      await end()
      if (round >= rounds.warmUp) pairs[side].push(time)
    }
  return pairs
}

/** From the start of a process to its end. */
async function ask(home: string): Promise<Ending> {
  const child = start(home, 'ask', 'what is in this folder?')
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`heddle ask ended with ${code}`)
  return async () => undefined
}

/** From the start of a daemon to the moment at which its socket takes us. */
async function up(home: string): Promise<Ending> {
  const child = start(home, 'up')
  const ended = once(child, 'exit')
  while (!(await answers(join(home, 'run')))) await new Promise(setImmediate)
  return async () => {
    child.kill('SIGTERM')
    await ended
  }
}

function start(home: string, ...args: string[]) {
  const env = { PATH: process.env['PATH'], HOME: join(home, '..'), HEDDLE_HOME: home }
  return spawn(process.execPath, [heddle, ...args], { cwd: join(home, '../folder'), env, stdio: 'ignore' })
}

async function answers(runFolder: string): Promise<boolean> {
  const path = findSocket(runFolder)
  if (path === undefined) return false
  const socket = connect(path)
  const isTaken = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false)
  socket.destroy()
  return isTaken
}

function forget(home: string): void {
  const db = new DatabaseSync(join(home, 'heddle.db'))
  db.exec('DELETE FROM passage_words; DELETE FROM passages; DELETE FROM home_files')
  db.close()
}

/** Notes as people write them: a title, a few paragraphs, words that come again. */
function writeNotes(folder: string): void {
  const chance = chanceFrom(5)
  const word = () => `word${Math.floor(chance() ** 3 * 20_000)}`
  const paragraph = () => Array.from({ length: 50 }, word).join(' ')
  for (let at = 0; at < files; at++) {
    const year = join(folder, String(2000 + (at % 25)))
    mkdirSync(year, { recursive: true })
    writeFileSync(join(year, `note-${at}.md`), `# Note ${at}\n\n${paragraph()}\n\n${paragraph()}\n`)
  }
}
