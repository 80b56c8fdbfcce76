import { basename } from 'node:path'
import type { CitedMemory, NarrativeLine, NarrativeView } from '../../api/views/narrative.ts'
import { shortId } from '../../domain/id.ts'
import { facts } from '../terminal/facts.ts'
import { formatAge, printable, type Screen, table, truncateToWidth } from '../terminal/screen.ts'

/** Table of narratives, one line each. */
export function narrativeTable(screen: Screen, narratives: readonly NarrativeLine[], now: number): string {
  // The folder is shown only if there are several.
  const isMixed = new Set(narratives.map(({ folder }) => folder)).size > 1
  const rows = narratives.map(({ id, createdAt, topic, summary, trusted, folder }) => [
    `narrative:${id}`,
    formatAge(createdAt, now),
    [...(isMixed ? [printable(basename(folder))] : []), ...(topic === undefined ? [] : [`#${printable(topic)}`])].join(
      ' ',
    ),
    printableLine(summary),
    trusted ? '' : 'untrusted',
  ])
  return table(screen, rows, 3)
}

/** Everything about a narrative: its text, the memories it is based on, its tasks, and related narratives. */
export function narrativePage(screen: Screen, narrative: NarrativeView): string {
  const { label, before, after, runId, turnId } = narrative
  const others = [
    ...(before ? [['  continues', `narrative:${before.id}`, printableLine(before.summary)]] : []),
    ...after.map(({ id, summary }) => ['  continued by', `narrative:${id}`, printableLine(summary)]),
  ]
  const head = facts(screen, `narrative:${narrative.id}`, [
    ['topic', narrative.topic === undefined ? null : printable(narrative.topic)],
    ['folder', printable(narrative.folder)],
    ['trust', label.integrity === 'untrusted' ? `untrusted: ${printable(label.sources.join(', '))}` : null],
    ['by', runId === undefined ? null : `run:${shortId(runId)}`],
    ['about', turnId === undefined ? null : `turn:${shortId(turnId)}`],
    ['at', narrative.createdAt],
    ['next', `heddle why narrative:${narrative.id}`],
  ])
  const memories = narrative.memories.map((memory) => [
    `  memory:${memory.id}`,
    fate(memory),
    printableLine(memory.content),
  ])
  const tasks = narrative.tasks.map(({ id, status, title }) => [`  task:${id}`, status, printableLine(title)])
  return [
    head,
    '',
    printable(narrative.summary, { lines: true }),
    ...(memories.length > 0 ? ['', 'based on', table(screen, memories, 2)] : []),
    ...(tasks.length > 0 ? ['', 'tells of', table(screen, tasks, 2)] : []),
    ...(others.length > 0 ? ['', 'related', table(screen, others, 2)] : []),
  ].join('\n')
}

/** The list, or a hint if it is empty. */
export function narrativeList(
  screen: Screen,
  found: readonly NarrativeLine[],
  { limit, all, now }: { limit: number; all: boolean; now: number },
): string {
  const narratives = found.slice(0, limit)
  if (narratives.length === 0)
    return all
      ? 'no session summaries yet    heddle chat; they are written as the work goes on'
      : 'no session summaries for this folder yet    --all shows every folder'
  const more = found.length > limit ? '\nthere are more    --limit' : ''
  return narrativeTable(screen, narratives, now) + more
}

function fate({ state, replacedBy }: CitedMemory): string {
  if (state === 'replaced') return `replaced by memory:${replacedBy}`
  if (state === 'forgotten') return 'forgotten'
  if (state === 'archived') return 'archived'
  return state === 'gone' ? 'no longer stored' : ''
}

function printableLine(text: string): string {
  return truncateToWidth(printable(text.slice(0, 1000).toWellFormed().replace(/\s+/g, ' ')), 400)
}
