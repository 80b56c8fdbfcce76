import type { Agent } from '../domain/agent.ts'
import { type Decision, shortestHash } from '../domain/approval.ts'
import { whyRefused } from '../domain/attachment.ts'
import { Misuse } from '../domain/errors.ts'
import type { Part } from '../domain/message.ts'
import type { Model } from '../domain/model.ts'
import { nearest } from '../domain/nearest.ts'

/** The agents that can be asked in a folder. */
export interface Askable {
  /** Names of those that can be given work. */
  names(): string[]
  /** An agent of this name that cannot be given work; its diagnostics say why. */
  unusable(name: string): Agent | undefined
}

/** `@name …` at the very beginning goes straight to that agent; any other `@` is a word. */
export function addressed(
  said: string,
  agent: string | undefined,
  askable: Askable,
): { content: string; agent?: string } {
  const [, name = '', content = ''] = /^@([a-z0-9][\w-]*)[\s,:]+(\S[\s\S]*)$/i.exec(said) ?? []
  if (agent !== undefined || name === '') return { content: said }
  const isMeant = askable.names().includes(name) || askable.unusable(name) !== undefined
  return isMeant ? { content, agent: name } : { content: said }
}

/** Refuses an agent that is not there or cannot be given work, before anything is taken in. */
export function mustAnswer(name: string, askable: Askable): void {
  const known = askable.names()
  if (known.includes(name)) return
  const unusable = askable.unusable(name)
  if (unusable) throw cannotWork(unusable)
  const close = nearest(name, known)
  throw new Misuse(
    `there is no agent "@${name}"`,
    close ? `did you mean @${close}?` : 'heddle agents lists them',
    'agent_unknown',
  )
}

/** Why the agent that `agent.default` names cannot answer; undefined when it can. */
export function whyNoDefault(name: string, askable: Askable): Misuse | undefined {
  const known = askable.names()
  if (known.includes(name)) return undefined
  const unusable = askable.unusable(name)
  if (unusable) return cannotWork(unusable)
  const close = nearest(name, known)
  const set = `heddle config set agent.default @${close ?? 'coordinator'}`
  return new Misuse(
    `agent.default names @${name}, and there is no such agent here`,
    close ? `did you mean @${close}? ${set}` : `name one that heddle agents lists: ${set}`,
    'agent_unknown',
  )
}

function cannotWork({ name, diagnostics, path }: Agent): Misuse {
  const [first] = diagnostics
  const place = first?.line === undefined ? path : `${path}:${first.line}`
  return new Misuse(
    `@${name} cannot be given work: ${first?.message ?? 'its file is broken'}`,
    `${first?.remedy ?? 'mend it'} (${place})`,
    'agent_unusable',
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
