import { type Decision, shortestHash } from '../domain/approval.ts'
import { whyRefused } from '../domain/attachment.ts'
import { Misuse } from '../domain/errors.ts'
import type { Part } from '../domain/message.ts'
import type { Model } from '../domain/model.ts'
import { nearest } from '../domain/nearest.ts'

/** `@name …` at the very beginning goes straight to that agent; any other `@` is a word. */
export function addressed(
  said: string,
  agent: string | undefined,
  known: () => string[],
): { content: string; agent?: string } {
  const [, name = '', content = ''] = /^@([a-z0-9][\w-]*)[\s,:]+(\S[\s\S]*)$/i.exec(said) ?? []
  return agent === undefined && name !== '' && known().includes(name) ? { content, agent: name } : { content: said }
}

/** An agent that is not there is an error before anything is taken in. */
export function mustAnswer(name: string, known: string[]): void {
  if (known.includes(name)) return
  const close = nearest(name, known)
  throw new Misuse(
    `there is no agent "@${name}"`,
    close ? `did you mean @${close}?` : 'heddle agents lists them',
    'agent_unknown',
  )
}

export function acceptPart(part: Part, model: Model): void {
  const why = whyRefused(part, model)
  if (why !== undefined)
    throw new Misuse(`${why}.`, 'leave it out, or name a model that can: heddle models', 'part_refused')
}

/** Whoever says yes says to what: the question may be another one by now. Holds for every way in. */
export function mustNameWhatItIsFor(approval: string, { answer, hash }: Decision): void {
  if (answer === 'no' || hash !== undefined) return
  throw new Misuse(
    'a yes must name what it is for: hash is missing',
    `heddle approvals --json and GET /v1/approvals tell the hash of ${approval}; at least ${shortestHash} of its characters`,
    'bad_request',
  )
}
