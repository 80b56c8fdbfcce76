import type { Answered } from '../domain/app.ts'
import type { Millis } from '../domain/clock.ts'
import { tail } from '../domain/id.ts'
import type { Usage } from '../domain/turn.ts'
import { markdown } from './markdown.ts'
import { cut, paint, printable, type Screen, width } from './screen.ts'
import { moneyWords, tokenWords } from './spending-words.ts'

const shortestModel = 12

/** What the last line of an answer tells. */
export interface AnswerFacts {
  turnId: string | null
  model: { actual: string | null }
  usage: Usage
  took: Millis
  /** What the whole request has cost, where others worked for it. */
  request?: Usage
  /** One thing to do next; without it, to look at the turn. */
  next?: string
}

/** The answer, and in the last line what it cost and what to type next. */
export function answerPage(screen: Screen, answer: AnswerFacts & Pick<Answered, 'text'>): string {
  return `${markdown(screen, answer.text)}\n${lastLine(screen, answer)}`
}

/** Turn, model that really answered, tokens, cost, time, and one next command; a long name of a model gives way. */
export function lastLine(screen: Screen, { turnId, model, usage, took, request, next }: AnswerFacts): string {
  const turn = `turn:${tail(turnId ?? '')}`
  const inAll = request && sumOf(request) > sumOf(usage) ? ` of ${moneyWords(request)}` : ''
  const after = [tokenWords(usage), `${moneyWords(usage)}${inAll}`, seconds(took)].join(' · ')
  const command = next ?? `heddle show ${turn}`
  const name = printable(model.actual ?? 'no model')
  const line = (shown: string) => paint(screen, 'dim', `${turn} · ${shown} · ${after}`)
  const room = screen.columns - width(`${line('')}  ${command}`)
  if (!screen.isTerminal || width(name) <= room) return `${line(name)}  ${command}`
  if (room >= shortestModel) return `${line(cut(name, room))}  ${command}`
  return `${line(cut(name, screen.columns - width(line(''))))}\n${command.padStart(screen.columns)}`
}

function sumOf({ costUsd, estimatedUsd = 0, lostUsd = 0 }: Usage): number {
  return costUsd + estimatedUsd + lostUsd
}

/** Tokens: of very many only the thousands matter. */
export function inThousands(tokens: number): string {
  return tokens < 10_000 ? String(tokens) : `${Math.round(tokens / 1000)}k`
}

/** A duration as it is read: tenths while they matter. */
export function seconds(duration: Millis): string {
  const all = Math.max(0, duration) / 1000
  if (all < 60) return `${all.toFixed(1)}s`
  const minutes = Math.floor(all / 60)
  return minutes < 60 ? `${minutes}m ${Math.floor(all % 60)}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`
}
