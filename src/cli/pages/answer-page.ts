import type { RequestAnswer } from '../../api/views/question.ts'
import type { Millis } from '../../domain/clock.ts'
import { shortId } from '../../domain/id.ts'
import type { TurnModel, Usage } from '../../domain/turn.ts'
import { failureLines } from '../chat/talk-lines.ts'
import { markdown } from '../terminal/markdown.ts'
import { paint, printable, type Screen, truncateToWidth, width } from '../terminal/screen.ts'
import { formatMoney, formatTokenCounts } from './format-spending.ts'

const minModelWidth = 12

/** Facts for the last line of an answer. */
interface AnswerFacts {
  turnId: string | null
  model: Pick<TurnModel, 'actual' | 'clamped'>
  usage: Usage
  took: Millis
  /** Cost of the whole request, where agents worked for it. */
  request?: Usage
  /** Next command; default: show the turn. */
  next?: string
}

/**
 * The answer, and a last line with the cost and the next command. An error is added if the answer does not contain it: a
 * model may claim anything about a plan that failed.
 */
export function answerPage(screen: Screen, answer: ShownAnswer): string {
  return [answerText(screen, answer), lastLine(screen, answer)].join('\n')
}

/** The answer without its last line. */
export function answerText(screen: Screen, { text, error }: ShownAnswer): string {
  const errorLines = error && !text.includes(error.message) ? [failureLines(screen, error)] : []
  return [markdown(screen, text), ...errorLines].join('\n')
}

type ShownAnswer = AnswerFacts & Pick<RequestAnswer, 'text' | 'error'>

/** Which model another one took the place of, and why; undefined if none did. */
export function clampWords({ clamped }: Pick<TurnModel, 'clamped'>): string | undefined {
  return clamped && `instead of ${printable(clamped.from)}: ${clamped.why}`
}

/**
 * Turn, the model that answered if any, tokens, cost, time, and one next command. A long model name is cut first. A line
 * before it says if another model than the chosen one answered.
 */
export function lastLine(screen: Screen, facts: AnswerFacts): string {
  const { actual } = facts.model
  const clamped = clampWords(facts.model)
  const warning = clamped && paint(screen, 'yellow', `answered by ${printable(actual ?? 'no model')} ${clamped}`)
  return [...(warning === undefined ? [] : [warning]), factsLine(screen, facts)].join('\n')
}

function factsLine(screen: Screen, { turnId, model, usage, took, request, next }: AnswerFacts): string {
  const turn = `turn:${shortId(turnId ?? '')}`
  const inAll = request && totalUsd(request) > totalUsd(usage) ? ` of ${formatMoney(request)}` : ''
  const after = [formatTokenCounts(usage), `${formatMoney(usage)}${inAll}`, formatSeconds(took)].join(' · ')
  const command = next ?? `heddle show ${turn}`
  const name = printable(model.actual ?? '')
  const line = (shown: string) =>
    paint(screen, 'dim', `${turn} · ${model.actual === null ? '' : `${shown} · `}${after}`)
  const room = screen.columns - width(`${line('')}  ${command}`)
  if (!screen.isTerminal || width(name) <= room) return `${line(name)}  ${command}`
  if (room >= minModelWidth) return `${line(truncateToWidth(name, room))}  ${command}`
  return `${line(truncateToWidth(name, screen.columns - width(line(''))))}\n${command.padStart(screen.columns)}`
}

function totalUsd({ costUsd, estimatedUsd = 0, lostUsd = 0 }: Usage): number {
  return costUsd + estimatedUsd + lostUsd
}

/** Token count, large ones in thousands. */
export function inThousands(tokens: number): string {
  return tokens < 10_000 ? String(tokens) : `${Math.round(tokens / 1000)}k`
}

/** A duration for people: tenths of seconds below a minute. */
export function formatSeconds(duration: Millis): string {
  const all = Math.max(0, duration) / 1000
  if (all < 60) return `${all.toFixed(1)}s`
  const minutes = Math.floor(all / 60)
  return minutes < 60 ? `${minutes}m ${Math.floor(all % 60)}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`
}
