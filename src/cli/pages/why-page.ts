import type { Consequence, FileWhy, WhyLink, WhyView } from '../../api/views/why.ts'
import { linkLabel } from '../../api/words/link-label.ts'
import { shortId } from '../../domain/id.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import { paint, printable, type Screen, truncateToWidth, width, wrapText } from '../terminal/screen.ts'

/** One row of the page, for one or several links of the chain. */
interface Row {
  label: string
  what: string
  beside: string
  at?: string | null
}

/** Max width of the name column; longer names push the text beside them. */
const maxNameWidth = 24

/** The chain, one line per link, then notes, then consequences. */
export function whyPage(screen: Screen, view: WhyView, now: number): string {
  const [first] = view.chain
  if (!first) return ''
  const rows = [...rowsOf(view.chain), ...(view.story?.told ?? []).map(rowOf)]
  const notes = view.notes.map(({ topic, text }) => ({ label: topic, text }))
  const lengths = [...rows, ...notes].map(({ label }) => label.length)
  const indent = Math.max(0, ...lengths) + 4
  const names = Math.max(0, ...rows.map(({ what }) => width(what)).filter((each) => each <= maxNameWidth))
  return [
    ...headingRows(heading(first, view.file), view.file, screen.columns).map((row) => paint(screen, 'yellow', row)),
    ...rows.map((row) => renderRow(screen, row, indent, names, now)),
    ...earlierLine(screen, view.story, indent),
    ...notes.flatMap(({ label, text }) => noteLines(screen, label, text, indent)),
    ...(view.forward ? forwardLines(screen, view.forward) : []),
  ].join('\n')
}

/** The command that shows earlier narratives, if there are more. */
function earlierLine(screen: Screen, story: WhyView['story'], indent: number): string[] {
  const last = story?.told.at(-1)
  if (!story?.isMore || !last) return []
  return noteLines(screen, '', `and earlier ones: heddle why ${nameOf(last)}`, indent)
}

/** A title is cut; who wrote how much of a file is told whole. */
function headingRows(text: string, file: FileWhy | undefined, columns: number): string[] {
  return file && file.text === undefined
    ? wrapText(text, columns, { words: true, hang: '    ' })
    : [shortened(text, columns)]
}

function heading(first: WhyLink, file: FileWhy | undefined): string {
  const title = printable(first.title)
  if (first.kind !== 'file') return `${nameOf(first)}  ${first.missing ? title : quoted(title)}${byWhom(first)}`
  if (file?.text !== undefined) return `${printable(first.id)}  ${quoted(printable(file.text.trim()))}`
  return `${printable(first.id)}${file ? shares(file) : ''}`
}

/** Max runs of a heading. */
const maxShares = 6

/** `  61 lines: 50 by run:7k3d @writer, 9 not by heddle, 2 unknown`. */
function shares({ lines, writers, others, unknown = 0 }: FileWhy): string {
  if (lines === null) return ''
  const parts = writers
    .slice(0, maxShares)
    .map(
      (writer) =>
        `${writer.lines} by run:${shortId(writer.runId)}${writer.agent ? ` @${printable(writer.agent)}` : ''}`,
    )
  const further = writers.slice(maxShares)
  const count = further.reduce((sum, writer) => sum + writer.lines, 0)
  if (further.length > 0) parts.push(`${count} by ${countNoun(further.length, 'more run')}`)
  const rest = [...(others > 0 ? [`${others} not by heddle`] : []), ...(unknown > 0 ? [`${unknown} unknown`] : [])]
  const all = [...parts, ...rest]
  return `  ${countNoun(lines, 'line')}${all.length > 0 ? `: ${all.join(', ')}` : ''}`
}

/** Rows of the chain. A result and its run share a row, and so do a task, its plan and its planner. */
function rowsOf(chain: WhyLink[]): Row[] {
  const rows: Row[] = []
  for (let at = 0; at < chain.length; at++) {
    const link = chain[at] as WhyLink
    const next = chain[at + 1]
    if (at > 0 && link.kind === 'task') {
      const later = chain.slice(at + 1)
      rows.push(taskLinkRow(link, later))
      // The planner's own links are left out: the page of that run has them.
      const skipped = later.slice(0, -1)
      rows.push(...skipped.filter(({ missing }) => missing).map(rowOf))
      at += skipped.length
      continue
    }
    if (at > 0) rows.push(rowOf(link))
    if (link.read) rows.push(readRow(link.read))
    if (link.how === 'woken by') rows.push(...givenRow('and by', chain[at - 1], link))
    // A line comes from one result; other results of its writer are not shown.
    if (link.kind === 'run' && next?.kind !== 'result') rows.push(...givenRow('given', link))
    const isItsMaker = link.kind === 'result' && next?.kind === 'run' && next.id === link.runId && !next.missing
    if (at > 0 && isItsMaker) at++
  }
  return rows
}

/** The results that a run was given, except one that is shown already. */
function givenRow(label: string, run: WhyLink | undefined, shown?: WhyLink): Row[] {
  const others = (run?.given ?? []).map(String).filter((id) => id !== shown?.id)
  return others.length === 0 ? [] : [{ label, what: others.map((id) => `result:${id}`).join(', '), beside: '' }]
}

function rowOf(link: WhyLink): Row {
  if (link.missing && link.how !== 'you said')
    return { label: linkLabel(link.how), what: nameOf(link), beside: 'MISSING: no longer stored' }
  const who = [
    ...(link.kind === 'result' && link.runId ? [`run:${shortId(link.runId)}`] : []),
    ...(link.agent === undefined ? [] : [`@${printable(link.agent)}`]),
    ...(link.model === undefined ? [] : [printable(link.model)]),
  ].join(', ')
  switch (link.kind) {
    case 'run':
      return {
        label: linkLabel(link.how),
        what: link.tool === undefined ? nameOf(link) : `${printable(link.tool)} in ${nameOf(link)}`,
        beside: who,
        at: link.at,
      }
    case 'result':
      return { label: linkLabel(link.how), what: nameOf(link), beside: who }
    case 'file':
      return { label: linkLabel(link.how), what: nameOf(link), beside: '' }
    default: {
      const gone = link.missing ? 'MISSING, but it began with ' : ''
      return { label: linkLabel(link.how), what: nameOf(link), beside: `${gone}${quoted(printable(link.title))}` }
    }
  }
}

function taskLinkRow(task: WhyLink, later: WhyLink[]): Row {
  const name = `task ${task.id}${task.planId === undefined ? '' : ` of plan ${task.planId}`}`
  const at = later.findIndex(({ how, missing }) => how === 'planned in' && !missing)
  const planner = later[at]
  const from = planner && later[at + 1]?.kind === 'result' ? ` from ${nameOf(later[at + 1] as WhyLink)}` : ''
  const beside = planner ? `planned in ${nameOf(planner)}${from}` : quoted(printable(task.title))
  return task.missing ? rowOf(task) : { label: linkLabel(task.how), what: name, beside }
}

function readRow({ count, under, changed, unknown }: NonNullable<WhyLink['read']>): Row {
  const where = under === '.' ? 'this folder' : printable(under)
  const states = [
    ...(changed.length > 0
      ? [`${changed.length} changed since: ${changed.map((path) => printable(path)).join(', ')}`]
      : []),
    ...(unknown > 0 ? [`${unknown} not compared`] : []),
  ]
  const beside = states.length > 0 ? states.join('; ') : 'none changed since'
  return { label: 'files read', what: `${countNoun(count, 'file')} in ${where}`, beside }
}

function renderRow(
  screen: Screen,
  { label, what, beside, at }: Row,
  indent: number,
  names: number,
  now: number,
): string {
  const name = what + ' '.repeat(Math.max(0, names - width(what)))
  const time = at ? shortTime(at, now) : ''
  const room = screen.columns - indent - width(name) - 2 - (time === '' ? 0 : time.length + 2)
  const shown = shortened(beside, Math.max(8, room))
  const gap =
    time === '' ? '' : ' '.repeat(Math.max(2, screen.columns - indent - width(name) - 2 - width(shown) - time.length))
  const head = `  ${paint(screen, 'dim', label.padEnd(indent - 4))}  `
  return `${head}${name}  ${shown}${gap}${time}`.trimEnd()
}

function noteLines(screen: Screen, label: string, text: string, indent: number): string[] {
  const lines = wrapText(printable(text), Math.max(20, screen.columns - indent), { words: true })
  return lines.map((line, at) => `  ${paint(screen, 'dim', (at === 0 ? label : '').padEnd(indent - 4))}  ${line}`)
}

function forwardLines(screen: Screen, { came, leftOut }: NonNullable<WhyView['forward']>): string[] {
  if (came.length === 0 && leftOut === 0) return ['', 'no consequences yet']
  const lines = (of: Consequence[], more: number, depth: number): string[] => [
    ...of.flatMap((each) => [cameLine(screen, each, depth), ...lines(each.came, each.leftOut, depth + 1)]),
    ...(more > 0 ? [`${'  '.repeat(depth)}… and ${more} more, not shown here`] : []),
  ]
  return ['', 'consequences', ...lines(came, leftOut, 1)]
}

function cameLine(screen: Screen, came: Consequence, depth: number): string {
  const who = came.agent === undefined ? '' : `  @${printable(came.agent)}`
  const title = came.missing ? 'MISSING' : came.kind === 'file' ? '' : quoted(printable(came.title))
  return shortened(
    `${'  '.repeat(depth)}${linkLabel(came.how)}  ${nameOf(came)}${who}  ${title}`.trimEnd(),
    screen.columns,
  )
}

function byWhom({ agent, model, kind }: WhyLink): string {
  const who = [agent && `@${printable(agent)}`, model && printable(model)].filter(Boolean).join(', ')
  return who === '' || kind === 'turn' ? '' : `  ${who}`
}

/** The reference, as users type it. */
function nameOf({ kind, id }: Pick<WhyLink, 'kind' | 'id'>): string {
  if (kind === 'file') return printable(id)
  return `${kind}:${kind === 'run' || kind === 'turn' || kind === 'message' ? shortId(id) : printable(id)}`
}

function quoted(text: string): string {
  return `"${text}"`
}

/** Cut text that keeps its closing quote. */
function shortened(text: string, columns: number): string {
  if (width(text) <= columns || !text.endsWith('"')) return truncateToWidth(text, columns)
  return `${truncateToWidth(text.slice(0, -1), columns - 1)}"`
}

/** The time if it is today, else date and time. */
function shortTime(iso: string, now: number): string {
  const today = new Date(now).toISOString().slice(0, 10)
  return iso.startsWith(today) ? iso.slice(11, 19) : iso.slice(0, 16).replace('T', ' ')
}
