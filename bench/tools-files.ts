import { mkdirSync, writeFileSync } from 'node:fs'
import { open, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { nothingProtected } from '../src/domain/tools/path-handle.ts'
import type { Tool } from '../src/domain/tools/tool.ts'
import { systemClock as clock } from '../src/system.ts'
import { makeCall, prepareCall } from '../src/tools/call.ts'
import { hashOf } from '../src/tools/files/content-hash.ts'
import { fileTools } from '../src/tools/files/file-tools.ts'
import { type Figure, figure, measurePairs, median, shown } from './figures.ts'
import type { Scratch } from './scratch.ts'

const pairs = 300
const files = 50
const text = `${'a line of a small file\n'.repeat(200)}`

/** What a file tool costs over the bare operation on the same disk: everything but the commit that journals it. */
export async function fileFigures(scratch: Scratch): Promise<Figure[]> {
  const folder = join(scratch.directory, 'files')
  mkdirSync(folder)
  for (let n = 0; n < files; n++) writeFileSync(join(folder, `file-${n}.txt`), text)
  const known = new Map<string, Tool>(fileTools(clock).map((tool) => [tool.name, tool]))
  const call = async (name: string, input: unknown) => {
    const ready = prepareCall({ id: 'call', name, input }, known, [...known.keys()])
    if ('refused' in ready) throw new Error(JSON.stringify(ready.refused.output))
    const { signal } = new AbortController()
    const { status, output } = await makeCall(ready, {
      runId: 'run',
      callId: 'call',
      signal,
      folder,
      protect: nothingProtected,
      change,
    })
    if (status !== 'ok') throw new Error(JSON.stringify(output))
  }
  const named = (round: number) => `file-${round % files}.txt`
  const contestants: [
    name: string,
    ours: (round: number) => Promise<unknown>,
    floor: (round: number) => Promise<unknown>,
  ][] = [
    [
      'read_file over readFile',
      (round) => call('read_file', { path: named(round) }),
      (round) => readFile(join(folder, named(round))),
    ],
    ['list_dir over readdir', () => call('list_dir', { path: '.' }), () => readdir(folder, { withFileTypes: true })],
    [
      'write_file over a durable replacement',
      (round) => call('write_file', { path: named(round), content: `${text}${round}` }),
      (round) => replaced(folder, named(round), `${text}${round}`),
    ],
  ]
  const found: Figure[] = []
  for (const [name, ours, floor] of contestants) {
    scratch.say(name)
    const timed = await measurePairs({ ours, floor }, { pairs, warmUp: 30 })
    const differences = timed.ours.map((time, pair) => time - (timed.floor[pair] ?? Number.NaN))
    const sides = `ours ${shown(median(timed.ours))} ms, bare ${shown(median(timed.floor))} ms, ${pairs} pairs`
    found.push(figure(name, 'ms', { atMost: 0.5 }, differences, sides))
  }
  return found
}

/** The engine's way to change a file, without the commit that keeps what was there. */
const change: NonNullable<Parameters<typeof makeCall>[1]['change']> = (handle, make) =>
  handle.replaceFile(async (place) => {
    const bytes = make(place)
    return { state: { bytes }, answer: { path: handle.shown, sha256: hashOf(bytes) } }
  })

/** What anybody would do who wants a file to be the old or the new one, whole, after a power cut. */
async function replaced(folder: string, name: string, content: string): Promise<void> {
  const next = join(folder, `.${name}.next`)
  const file = await open(next, 'w')
  await file.writeFile(content)
  await file.sync()
  await file.close()
  await rename(next, join(folder, name))
  const directory = await open(folder, 'r')
  await directory.sync()
  await directory.close()
}
