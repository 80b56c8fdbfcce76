import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  ForgetResult,
  MemoryChange,
  MemoryView,
  RememberResult,
  SimilarMemory,
} from '../../../api/views/memory.ts'
import { HeddleError, UsageError } from '../../../domain/errors.ts'
import { shortId } from '../../../domain/id.ts'
import type { CommandContext, CommandResult } from '../../command.ts'
import { pipedInput } from '../../input/piped-input.ts'
import { contentLine, datedMention, joinFirst, memoryMention, noteMention } from '../../pages/memory-page.ts'
import { canAsk, confirm, readInput } from '../../terminal/prompt.ts'
import { printable } from '../../terminal/screen.ts'

type TagsAndKeywords = Omit<MemoryChange, 'content'>

/** Saves a statement, and reports which memories it replaces or resembles. */
export async function addMemory(
  here: CommandContext,
  text: string | undefined,
  words: TagsAndKeywords,
): Promise<CommandResult> {
  const content = text === '-' ? await readInput(here) : (text ?? (await pipedInput(here))?.toString('utf8'))
  if (content === undefined) throw new UsageError('there is nothing to remember', 'heddle memory add "one sentence"')
  const kept = await (await here.client()).remember({ content, ...words })
  const { id, score } = kept.memory
  return answerOf(
    here,
    kept,
    kept.isMerged ? `already saved as memory:${id}; its score is now ${score}` : `saved as memory:${id}`,
  )
}

/** Changes the text, tags or keywords of a memory. */
export async function editMemory(
  here: CommandContext,
  id: number,
  text: string | undefined,
  words: TagsAndKeywords,
): Promise<CommandResult> {
  const client = await here.client()
  const isAboutWords = words.tags !== undefined || words.keywords !== undefined
  const content =
    text === '-' ? await readInput(here) : (text ?? (isAboutWords ? undefined : await editedText(here, id)))
  if (content === undefined && !isAboutWords)
    return { json: { ok: true, id, changed: false }, text: 'nothing was changed' }
  const kept = await client.changeMemory(id, { ...(content !== undefined && { content }), ...words })
  const now = kept.memory.id
  return answerOf(here, kept, now === id ? `memory:${id} is changed` : `memory:${now} replaces memory:${id}`)
}

/** Makes an untrusted memory trusted: shows the text and its sources first, and asks. */
export async function vouchForMemory(here: CommandContext, id: number, yes: boolean): Promise<CommandResult> {
  const client = await here.client()
  const memory = (await client.show(here.folder, `memory:${id}`)) as MemoryView
  if (!yes && !memory.trusted) {
    if (here.json || !canAsk(here))
      throw new UsageError(
        'trusting a memory needs your confirmation',
        `read it, then: heddle memory trust ${id} --yes`,
      )
    const sources = memory.label.sources.map((source) => printable(source)).join(', ')
    here.tell([memoryMention(here.screen, 'about to trust', memory), `  it is from ${sources}`].join('\n'))
    if (!(await confirm(here, 'do you vouch for it?')))
      throw new HeddleError('cancelled', `memory:${id} stays untrusted`, 'or write it yourself: heddle memory add "…"')
  }
  const kept = await client.trustMemory(id)
  return answerOf(here, kept, `memory:${kept.memory.id} is trusted, and replaces memory:${id}`)
}

/** Erases a memory. On a terminal it first shows what is based on it and asks. */
export async function forgetMemory(
  here: CommandContext,
  id: number,
  { yes, older }: { yes: boolean; older: boolean },
): Promise<CommandResult> {
  const client = await here.client()
  const isAsked = !yes && !here.json && canAsk(here)
  const memory = isAsked ? ((await client.show(here.folder, `memory:${id}`)) as MemoryView) : undefined
  let isOlderMeant = older
  if (memory && memory.forgottenAt === undefined) {
    here.tell([memoryMention(here.screen, 'about to forget', memory), ...restedOn(memory)].join('\n'))
    if (!(await confirm(here, 'forget it permanently?')))
      throw new HeddleError('cancelled', `memory:${id} was kept`, `correct it instead: heddle memory edit ${id}`)
    const replaced = memory.older.filter(({ content }) => content !== '')
    if (!older && replaced.length > 0) {
      here.tell(replaced.map((each) => memoryMention(here.screen, 'it replaced', each)).join('\n'))
      isOlderMeant = await confirm(here, `forget ${replaced.length === 1 ? 'that' : 'those'} too?`)
    }
  }
  const gone = await client.forgetMemory(id, { older: isOlderMeant })
  const also = memory ? await forgetTwins(here, gone.near) : []
  const near = gone.near.filter((twin) => !also.includes(twin.id))
  return {
    json: { ok: true, ...gone, near: near.map((twin) => twin.id) },
    text: [
      `memory:${id} is forgotten`,
      ...also.map((twin) => `memory:${twin} is forgotten`),
      ...olderLines(gone),
      ...restedOn(gone),
      ...twinLines(here, near),
      ...gone.notes.map(({ path, line, text }) => noteMention(here.screen, `${path}:${line}`, text)),
    ].join('\n'),
  }
}

/** Asks about each memory that may say the same; returns those that were forgotten. */
async function forgetTwins(here: CommandContext, twins: readonly SimilarMemory[]): Promise<number[]> {
  const client = await here.client()
  const forgotten: number[] = []
  for (const twin of twins) {
    here.tell(datedMention(here.screen, 'similar:', twin))
    if (!(await confirm(here, 'forget that too?'))) continue
    await client.forgetMemory(twin.id)
    forgotten.push(twin.id)
  }
  return forgotten
}

/** Lines about what may still say the same. */
function twinLines(here: CommandContext, [first, ...others]: readonly SimilarMemory[]): string[] {
  if (!first) return []
  const lines = [first, ...others].map((twin) => datedMention(here.screen, 'similar, still there:', twin))
  return [...lines, `  does one say the same?  heddle memory forget ${first.id}`]
}

function answerOf(
  here: CommandContext,
  { memory, isMerged, superseded, near }: RememberResult,
  what: string,
): CommandResult {
  const [first] = near
  const lines = [
    `${what}    heddle memory show ${memory.id}`,
    contentLine(here.screen, memory),
    ...superseded.map((older) => memoryMention(here.screen, 'replaces', older)),
    ...near.map((other) =>
      datedMention(here.screen, 'similar:', { ...other, day: (other.saidAt ?? other.createdAt).slice(0, 10) }),
    ),
    ...(first
      ? [
          `  ${near.length === 1 ? 'both' : 'all'} are kept. Is one outdated?  heddle memory edit ${first.id} "…", heddle memory forget ${first.id}`,
        ]
      : []),
  ]
  const ids = { superseded: superseded.map(({ id }) => id), near: near.map(({ id }) => id) }
  return { json: { ok: true, id: memory.id, merged: isMerged, ...ids, memories: [memory] }, text: lines.join('\n') }
}

/** Lines about the memories that it had replaced: erased too, or still readable. */
function olderLines({ older, kept }: ForgetResult): string[] {
  const gone = joinFirst(older.map((id) => `memory:${id}`))
  const there = joinFirst(kept.map((id) => `memory:${id}`))
  return [
    ...(gone === null ? [] : [`  forgotten with it: ${gone}`]),
    ...(there === null ? [] : [`  it had replaced ${there}: still readable    heddle memory forget ${kept[0]}`]),
  ]
}

function restedOn({ narratives, runs }: Pick<ForgetResult, 'narratives' | 'runs'>): string[] {
  const cited = joinFirst(narratives.map((id) => `narrative:${id}`))
  const shown = joinFirst(runs.map((id) => `run:${shortId(id)}`))
  return [
    ...(cited === null ? [] : [`  told in ${cited}, hidden from now on`]),
    ...(shown === null ? [] : [`  shown to ${shown}`]),
    '  turns are not changed: a session in which it was mentioned still sees it',
  ]
}

/** Opens a memory in the user's editor; undefined if its text was not changed. */
async function editedText(here: CommandContext, id: number): Promise<string | undefined> {
  if (here.json || !canAsk(here))
    throw new UsageError('editing needs a terminal', `or give the text: heddle memory edit ${id} "…"; - reads stdin`)
  const memory = (await (await here.client()).show(here.folder, `memory:${id}`)) as MemoryView
  if (memory.forgottenAt !== undefined || memory.replacedBy !== undefined)
    throw new UsageError(
      `memory:${id} is no longer current`,
      `see what replaced it: heddle memory show ${id}`,
      'superseded',
    )
  const { runEditor } = await import('../set-up.ts')
  const folder = mkdtempSync(join(tmpdir(), 'heddle-memory-'))
  const file = join(folder, `memory-${id}.md`)
  try {
    writeFileSync(file, `${memory.content}\n`, { mode: 0o600 })
    const code = await runEditor(here, file, `memory edit ${id}`)
    if (code !== 0)
      throw new HeddleError(
        'editor_failed',
        `the editor exited with code ${code}`,
        'nothing was changed; set EDITOR to another editor',
      )
    const text = readFileSync(file, 'utf8').trim()
    return text === '' || text === memory.content ? undefined : text
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
