import type { Shown } from '../api/turns.ts'
import type { WhyView } from '../api/views/why.ts'

/** Leaves out what is private to the owner: the prompt, made of the owner's files, narratives, and what was recalled. */
export function withoutPrivate(shown: Shown): Shown {
  if (shown.kind === 'task') return { ...shown, narratives: [] }
  if (shown.kind !== 'turn') return shown
  const thread = { ...shown.thread, systemPrompt: null }
  return { ...shown, remindedOf: [], remindedOfFiles: [], beganWith: null, thread }
}

/** Leaves out of an explanation what is private to the owner: memories, and the narratives around it. */
export function withoutPrivateLinks({ story: _, ...view }: WhyView): WhyView {
  return { ...view, chain: view.chain.filter(({ kind }) => kind !== 'memory' && kind !== 'narrative') }
}
