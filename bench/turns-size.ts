import type { TurnDraft } from '../src/domain/draft.ts'
import { type Figure, figure, type Goal } from './figures.ts'
import { discard, draftOf, grow, openWorld, type Scratch, sizeOnDisk } from './scratch.ts'

const stored = 100_000
const sessions = 100

/** The main file after a checkpoint against the text of all messages. */
export async function measureSize(scratch: Scratch, { bytes, goal }: { bytes: number; goal: Goal }): Promise<Figure> {
  scratch.say(`${stored} turns of ${bytes} bytes`)
  const runtime = await openWorld(scratch, `size-${bytes}`)
  const draft = draftOf(bytes)
  const labels = Array.from({ length: sessions }, (_, number) => `session-${number}`)
  await grow(runtime, labels, stored, draft)
  await runtime.store.close()
  const file = sizeOnDisk(runtime.file)
  const text = stored * textOf(draft)
  discard(runtime.file)
  const detail = `file ${megabytes(file)} / text ${megabytes(text)}, ${stored} turns in ${sessions} sessions`
  return figure(`bytes on disk / bytes of text at ${stored} turns of ${bytes} B`, 'ratio', goal, [file / text], detail)
}

function textOf({ query, response }: TurnDraft): number {
  return [...query, response].reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
