import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { MemoryChange, MemoryForgotten, MemoryKept, MemoryView } from '../domain/memory-views.ts'
import type { Answer, Here } from './cli.ts'
import { contentLine, datedMention, few, memoryMention } from './memory-page.ts'
import { pipedInput } from './piped.ts'
import { agrees, canAsk, readInput } from './prompt.ts'

type Words = Omit<MemoryChange, 'content'>

/** Keeps a statement, and says how it stands to what was known. */
export async function addMemory(here: Here, text: string | undefined, words: Words): Promise<Answer> {
  const content = text === '-' ? await readInput(here) : (text ?? (await pipedInput(here))?.toString('utf8'))
  if (content === undefined)
    throw new Misuse('there is nothing to remember', 'heddle memory add "say it in a sentence"')
  const kept = await (await here.app()).remember({ content, ...words })
  const { id, score } = kept.memory
  return answerOf(
    here,
    kept,
    kept.isMerged ? `memory:${id} said so already; it counts more now (${score})` : `memory:${id} is kept`,
  )
}

/** Says a memory anew, or gives it other words to be found by. */
export async function editMemory(here: Here, id: number, text: string | undefined, words: Words): Promise<Answer> {
  const app = await here.app()
  const isAboutWords = words.tags !== undefined || words.keywords !== undefined
  const content =
    text === '-' ? await readInput(here) : (text ?? (isAboutWords ? undefined : await editedText(here, id)))
  if (content === undefined && !isAboutWords)
    return { json: { ok: true, id, changed: false }, text: 'nothing was changed' }
  const kept = await app.changeMemory(id, { ...(content !== undefined && { content }), ...words })
  const now = kept.memory.id
  return answerOf(here, kept, now === id ? `memory:${id} is changed` : `memory:${now} says it anew`)
}

/** Wipes a memory. Whoever sits at a terminal sees first what rests on it. */
export async function forgetMemory(
  here: Here,
  id: number,
  { yes, older }: { yes: boolean; older: boolean },
): Promise<Answer> {
  const app = await here.app()
  const isAsked = !yes && !here.json && canAsk(here)
  const memory = isAsked ? ((await app.show(here.folder, `memory:${id}`)) as MemoryView) : undefined
  let isOlderMeant = older
  if (memory && memory.forgottenAt === undefined) {
    here.tell([memoryMention(here.screen, 'about to forget', memory), ...restedOn(memory)].join('\n'))
    if (!(await agrees(here, 'forget it for good?')))
      throw new HeddleError('cancelled', `memory:${id} is kept`, `correct it instead: heddle memory edit ${id}`)
    const replaced = memory.older.filter(({ content }) => content !== '')
    if (!older && replaced.length > 0) {
      here.tell(replaced.map((each) => memoryMention(here.screen, 'it replaced', each)).join('\n'))
      isOlderMeant = await agrees(here, `forget ${replaced.length === 1 ? 'that' : 'those'}, too?`)
    }
  }
  const gone = await app.forgetMemory(id, { older: isOlderMeant })
  return {
    json: { ok: true, ...gone },
    text: [`memory:${id} is forgotten`, ...olderLines(gone), ...restedOn(gone)].join('\n'),
  }
}

function answerOf(here: Here, { memory, isMerged, superseded, near }: MemoryKept, what: string): Answer {
  const [first] = near
  const lines = [
    `${what}    heddle memory show ${memory.id}`,
    contentLine(here.screen, memory),
    ...superseded.map((older) => memoryMention(here.screen, 'in the place of', older)),
    ...near.map((other) => datedMention(here.screen, 'looks like', other)),
    ...(first
      ? [`  all are kept. Is one out of date?  heddle memory edit ${first.id} "…", heddle memory forget ${first.id}`]
      : []),
  ]
  const ids = { superseded: superseded.map(({ id }) => id), near: near.map(({ id }) => id) }
  return { json: { ok: true, id: memory.id, merged: isMerged, ...ids, memories: [memory] }, text: lines.join('\n') }
}

/** What became of those that it had replaced. */
function olderLines({ older, kept }: MemoryForgotten): string[] {
  const gone = few(older.map((id) => `memory:${id}`))
  const there = few(kept.map((id) => `memory:${id}`))
  return [
    ...(gone === null ? [] : [`  forgotten with it: ${gone}`]),
    ...(there === null ? [] : [`  it had replaced ${there}: still readable    heddle memory forget ${kept[0]}`]),
  ]
}

function restedOn({ narratives, runs }: Pick<MemoryForgotten, 'narratives' | 'runs'>): string[] {
  const cited = few(narratives.map((id) => `narrative:${id}`))
  const shown = few(runs.map((id) => `run:${tail(id)}`))
  return [
    ...(cited === null ? [] : [`  cited by ${cited}, told to nobody any more`]),
    ...(shown === null ? [] : [`  shown to ${shown}`]),
    '  what was said in turns is not changed',
  ]
}

/** A memory's words as somebody left them in their editor; undefined when they left them as they were. */
async function editedText(here: Here, id: number): Promise<string | undefined> {
  if (here.json || !canAsk(here))
    throw new Misuse('words are edited on a terminal', `or say them: heddle memory edit ${id} "…"; - reads stdin`)
  const memory = (await (await here.app()).show(here.folder, `memory:${id}`)) as MemoryView
  if (memory.forgottenAt !== undefined || memory.replacedBy !== undefined)
    throw new Misuse(`memory:${id} no longer counts`, `see what does: heddle memory show ${id}`, 'superseded')
  const { runEditor } = await import('./set-up.ts')
  const folder = mkdtempSync(join(tmpdir(), 'heddle-memory-'))
  const file = join(folder, `memory-${id}.md`)
  try {
    writeFileSync(file, `${memory.content}\n`, { mode: 0o600 })
    const code = await runEditor(here, file, `memory edit ${id}`)
    if (code !== 0)
      throw new HeddleError('editor_failed', `the editor ended with ${code}`, 'nothing was changed; set another EDITOR')
    const text = readFileSync(file, 'utf8').trim()
    return text === '' || text === memory.content ? undefined : text
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
