import { mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TurnDraft } from '../src/domain/draft.ts'
import { idSource } from '../src/domain/id.ts'
import type { Runtime } from '../src/engine/runtime.ts'
import { append } from '../src/engine/turns/append.ts'
import { openStore } from '../src/store/open.ts'
import { systemClock as clock, systemRandom as random } from '../src/system.ts'

/** A folder of one benchmark's databases; gone when the process ends, also by Ctrl-C. */
export interface Scratch {
  directory: string
  filesystem: string
  /** Says on a terminal what is being measured. */
  say(what: string): void
}

/** Where every append of a benchmark goes, unless it says otherwise. */
export const folder = '/bench'

const inMemory = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
])
const onDisk = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x794c7630, 'overlayfs'],
  [0x1a, 'apfs'],
])

/** Makes the folder on a real disk: in memory a durable commit costs nothing and every ratio is wrong. */
export function openScratch(wanted?: string): Scratch {
  const parents = wanted ? [wanted] : [tmpdir(), process.cwd()]
  const parent = parents.find((candidate) => !inMemory.has(statfsSync(candidate).type))
  if (parent === undefined) {
    process.stderr.write(`${parents.join(' and ')} are in memory; name a folder on a disk: --dir DIR\n`)
    process.exit(2)
  }
  const directory = mkdtempSync(join(parent, 'heddle-bench-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
  const { type } = statfsSync(directory)
  return {
    directory,
    filesystem: onDisk.get(type) ?? `type 0x${type.toString(16)}`,
    say: (what) => void (process.stderr.isTTY && process.stderr.write(`${what} …\n`)),
  }
}

/** A new SQLite store with full durability. */
export async function openWorld(scratch: Scratch, name: string): Promise<Runtime & { file: string }> {
  return openWorldAt(join(scratch.directory, `${name}.db`))
}

/** Likewise of a database that is there. */
export async function openWorldAt(file: string): Promise<Runtime & { file: string }> {
  const context = { clock, random, crash: () => undefined }
  const store = await openStore({ kind: 'sqlite', file, durability: 'full' }, context)
  return { store, clock, newId: idSource(clock, random), file }
}

/** Removes a database that is no longer needed. */
export function discard(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}

/** The size of a closed database: closing it moved its log into the main file. */
export function sizeOnDisk(file: string): number {
  if (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size) throw new Error(`${file} still has a log`)
  return statSync(file).size
}

/** The size of a database that is in use, its log moved into the main file. */
export function sizeNow(file: string): number {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return sizeOnDisk(file)
}

/** A turn with this many bytes of text: a short question, a long answer. */
export function draftOf(bytes: number): TurnDraft {
  const question = Math.floor(bytes * 0.15)
  return { query: [{ content: prose(question) }], response: { content: prose(bytes - question) } }
}

/** Adds turns to sessions in turn. Answers the last turn of each session. */
export function grow(runtime: Runtime, labels: string[], turns: number, draft: TurnDraft): Promise<string[]> {
  return growBy((label) => append(runtime, { folder, label, draft }), labels, turns)
}

/** Likewise, by whatever adds a turn; as many at a time as share a commit well. */
export async function growBy(
  add: (label: string) => Promise<{ turnId: string }>,
  labels: string[],
  turns: number,
): Promise<string[]> {
  const together = 512
  const heads = new Map<string, string>()
  for (let begun = 0; begun < turns; begun += together) {
    const count = Math.min(together, turns - begun)
    const made = Array.from({ length: count }, async (_, place) => {
      const label = labels[(begun + place) % labels.length] ?? ''
      heads.set(label, (await add(label)).turnId)
    })
    await Promise.all(made)
  }
  return labels.map((label) => heads.get(label) ?? '')
}

function prose(length: number): string {
  return 'A heddle guides each thread along its own path, so that "the cloth" comes out whole.\n'
    .repeat(Math.ceil(length / 80))
    .slice(0, length)
}
