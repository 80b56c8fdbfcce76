import type { Consequence, WhyLink, WhyNote, WhyView } from '../../api/views/why.ts'
import { findMemory } from '../../store/knowledge/memories.ts'
import { findNarrative } from '../../store/knowledge/narratives.ts'
import type { Reading } from '../../store/store.ts'
import { preview } from '../turns/history.ts'

type Mark = <T>(value: T) => T

/** Marks the values of stored secrets in the titles and notes of an explanation, also those that a title cuts in two. */
export async function markView(rows: Reading, view: WhyView, mark: Mark): Promise<WhyView> {
  const cut = await cutTexts(rows, view, mark)
  const marked = (text: string) => {
    for (const [shown, instead] of cut) text = text.replaceAll(shown, instead)
    return mark(text)
  }
  const link = (each: WhyLink) => ({ ...each, title: marked(each.title) })
  const note = (each: WhyNote) => ({ ...each, text: marked(each.text) })
  const consequence = (each: Consequence): Consequence => ({
    ...each,
    title: marked(each.title),
    came: each.came.map(consequence),
  })
  const { chain, notes, story, forward } = view
  return {
    ...view,
    chain: chain.map(link),
    notes: notes.map(note),
    ...(story && { story: { ...story, told: story.told.map(link) } }),
    ...(forward && { forward: { ...forward, came: forward.came.map(consequence) } }),
  }
}

/** Previews of memories and narratives with the value of a secret, each with what is shown instead. */
async function cutTexts(rows: Reading, view: WhyView, mark: Mark): Promise<Map<string, string>> {
  const consequences = (all: readonly Consequence[]): Consequence[] =>
    all.flatMap((each) => [each, ...consequences(each.came)])
  const links = [...view.chain, ...(view.story?.told ?? []), ...consequences(view.forward?.came ?? [])]
  const noted = view.notes.flatMap(({ ref }) => ref ?? [])
  const refs = new Set([...links.map(({ kind, id }) => `${kind}:${id}`), ...noted])
  const found = new Map<string, string>()
  for (const ref of refs) {
    const [, kind, id] = /^(memory|narrative):(\d+)$/.exec(ref) ?? []
    const text =
      kind === 'memory'
        ? (await findMemory(rows, Number(id)))?.content
        : kind && (await findNarrative(rows, Number(id)))?.summary
    if (text && mark(text) !== text) found.set(preview(text), preview(mark(text)))
  }
  return found
}
