import { basename } from 'node:path'
import { tail } from '../domain/id.ts'
import type { NarrativeLine, NarrativeView, RestsOn } from '../domain/narrative-views.ts'
import { facts } from './facts.ts'
import { ago, cut, printable, type Screen, table } from './screen.ts'

/** Narratives as a list, one line each. */
export function narrativeTable(screen: Screen, narratives: readonly NarrativeLine[], now: number): string {
  // Of one folder nobody needs to be told which.
  const isMixed = new Set(narratives.map(({ folder }) => folder)).size > 1
  const rows = narratives.map(({ id, createdAt, topic, summary, trusted, folder }) => [
    `narrative:${id}`,
    ago(createdAt, now),
    [...(isMixed ? [printable(basename(folder))] : []), ...(topic === undefined ? [] : [`#${printable(topic)}`])].join(
      ' ',
    ),
    oneLine(summary),
    trusted ? '' : 'untrusted',
  ])
  return table(screen, rows, 3)
}

/** All of a narrative: what it rests on with what became of it, and its place among the others. */
export function narrativePage(screen: Screen, narrative: NarrativeView): string {
  const { label, before, after, runId, turnId } = narrative
  const others = [
    ...(before ? [['  goes on from', `narrative:${before.id}`, oneLine(before.summary)]] : []),
    ...after.map(({ id, summary }) => ['  went on in', `narrative:${id}`, oneLine(summary)]),
  ]
  const head = facts(screen, `narrative:${narrative.id}`, [
    ['topic', narrative.topic === undefined ? null : printable(narrative.topic)],
    ['folder', printable(narrative.folder)],
    ['trust', label.integrity === 'untrusted' ? `untrusted: ${printable(label.sources.join(', '))}` : null],
    ['by', runId === undefined ? null : `run:${tail(runId)}`],
    ['tells of', turnId === undefined ? null : `turn:${tail(turnId)}`],
    ['at', narrative.createdAt],
    ['next', `heddle why narrative:${narrative.id}`],
  ])
  const memories = narrative.memories.map((memory) => [`  memory:${memory.id}`, fate(memory), oneLine(memory.content)])
  return [
    head,
    '',
    printable(narrative.summary, { lines: true }),
    ...(memories.length > 0 ? ['', 'rests on', table(screen, memories, 2)] : []),
    ...(others.length > 0 ? ['', 'among the others', table(screen, others, 2)] : []),
  ].join('\n')
}

/** The list, or what to do while there is none. */
export function narrativeList(
  screen: Screen,
  found: readonly NarrativeLine[],
  { limit, all, now }: { limit: number; all: boolean; now: number },
): string {
  const narratives = found.slice(0, limit)
  if (narratives.length === 0)
    return all
      ? 'nobody has noted where the work stands yet    heddle chat; it is noted as the work goes on'
      : 'nobody has noted where the work in this folder stands yet    --all looks at every folder'
  const more = found.length > limit ? '\nthere are more    --limit' : ''
  return narrativeTable(screen, narratives, now) + more
}

function fate({ state, replacedBy }: RestsOn): string {
  if (state === 'replaced') return `replaced by memory:${replacedBy}`
  if (state === 'forgotten') return 'forgotten'
  if (state === 'archived') return 'archived'
  return state === 'gone' ? 'not kept any more' : ''
}

function oneLine(text: string): string {
  return cut(printable(text.slice(0, 1000).toWellFormed().replace(/\s+/g, ' ')), 400)
}
