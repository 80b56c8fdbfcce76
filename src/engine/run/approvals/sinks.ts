import { isUntrusted } from '../../../domain/label.ts'
import type { Sink, SinkCall } from '../../../domain/tools/tool.ts'
import type { ReadyCall } from '../../../tools/call.ts'
import type { ActiveRun } from '../active-run.ts'
import { isTyped, typedTexts } from './typed-values.ts'

/**
 * Why a call needs approval because of what it reaches and what its run has read: it reaches a sink, untrusted content led
 * to it, and the user did not type where it goes. Undefined if that is not so.
 */
export async function sinkReason(run: ActiveRun, ready: ReadyCall): Promise<string | undefined> {
  const reached = sinkOf(ready)
  if (!reached || !isUntrusted(run.label) || (await isUsersChoice(run, reached))) return undefined
  const where = reached.destinations ? ', to an address that you did not type' : ''
  return `${ready.call.name} ${effects[reached.sink]}${where}, and this run has read untrusted content`
}

/**
 * Limits a call that goes on without an answer of its own, because of the origin of its address: its redirects stay on that
 * host unless the user typed the address.
 */
export async function limitRedirects(run: ActiveRun, ready: ReadyCall): Promise<ReadyCall> {
  const { destinations = [] } = (isUntrusted(run.label) && sinkOf(ready)) || {}
  if (destinations.length === 0) return ready
  const texts = await typedTexts(run)
  return destinations.every((each) => isTyped(each, texts)) ? ready : { ...ready, staysOnHost: true }
}

/** Note for the user on a call whose input leaves the folder. */
export function sinkNote(ready: ReadyCall): string {
  if (ready.tool.startsAgent) return '; what it is given goes to another agent'
  return sinkOf(ready)?.sink === 'network' ? '; what it is given goes to the network' : ''
}

const effects: Record<Sink, string> = {
  network: 'sends to the network',
  channel: 'sends a message',
  schedule: 'changes the schedule',
  config: 'changes the configuration',
  agents: 'changes an agent file',
  memory: 'makes a memory trusted',
}

function sinkOf({ tool, value }: ReadyCall): SinkCall | undefined {
  return tool.sink?.(value)
}

/** Whether the user typed every destination, in this conversation or as an origin in the configuration. */
async function isUsersChoice(run: ActiveRun, { destinations = [] }: SinkCall): Promise<boolean> {
  const { allowedOrigins } = run.engine
  const others = destinations.filter((each) => !allowedOrigins.includes(URL.parse(each)?.origin ?? ''))
  if (destinations.length === 0 || others.length === 0) return destinations.length > 0
  const texts = await typedTexts(run)
  return others.every((destination) => isTyped(destination, texts))
}
