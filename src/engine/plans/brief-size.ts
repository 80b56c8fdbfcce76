import type { ProfileValue } from '../../domain/profiles/profile.ts'
import { chooseModel, type KnownModels, windowOf } from '../model/choose-model.ts'
import { type ModelProviders, modelOfProfile } from '../policies/run-profile.ts'
import type { Engine } from '../runtime.ts'

/** Share of an agent's window that its brief may fill; the rest is for its own work. */
const briefShare = 0.5
// Conservative: hardly any text, in any language, has fewer bytes per token.
const bytesPerToken = 3
const defaultWindow = 32_000

/** The agent that will read a brief. */
export interface BriefReader {
  agent: string
  folder: string
  requestedModel?: string | null
  /** Its profile, if it is registered. */
  profile?: ProfileValue | undefined
}

type Windows = Pick<Engine, 'agents' | 'model' | 'policy' | keyof KnownModels | keyof ModelProviders>

/** Max bytes of an agent's brief: half the window of the model that will read it. */
export function maxBriefBytes(
  windows: Windows,
  { agent, folder, requestedModel = null, profile }: BriefReader,
): number {
  const requested = requestedModel ?? windows.agents.find(agent, folder)?.model ?? null
  return Math.floor(windowFor(windows, requested, profile) * briefShare * bytesPerToken)
}

/** Why a brief is too long for its agent, and the remedy; undefined if it fits. */
export function tooLongReason(windows: Windows, brief: string, reader: BriefReader): string | undefined {
  const fitting = startOf(brief, maxBriefBytes(windows, reader))
  if (fitting.length === brief.length) return undefined
  return (
    `its brief has ${brief.length} characters; at most ${fitting.length} fit the window of @${reader.agent}'s model: ` +
    'put the material into a file or point to a result'
  )
}

/** Max bytes of the sentence after a cut brief. */
const cutNoticeBytes = 200

/** A brief cut to `room` bytes, for an agent whose model now has a smaller window than when the brief was written. */
export function cutBrief(brief: string, room: number): string {
  if (Buffer.byteLength(brief) <= room) return brief
  const kept = startOf(brief, Math.max(0, room - cutNoticeBytes))
  const more = brief.length - kept.length
  return `${kept}\n… [cut: ${more} more characters of this brief do not fit the window of your model; say in your result that it was cut]`
}

/** The first whole characters of a text that fit into so many bytes. */
function startOf(text: string, bytes: number): string {
  const all = Buffer.from(text)
  return all.length <= bytes
    ? text
    : new TextDecoder('utf-8', { ignoreBOM: true }).decode(all.subarray(0, bytes), { stream: true })
}

/** An unavailable model gets the default: it must fail the child's run, not the spawning one. */
function windowFor(windows: Windows, requested: string | null, profile: ProfileValue | undefined): number {
  const { contextWindow: window } = profile ?? {}
  const limit = window === undefined ? {} : { window }
  try {
    const { name } = chooseModel(windows, { requested, ...modelOfProfile(windows, profile) })
    return windowOf(name === null ? { window: defaultWindow } : windows.model(name), limit)
  } catch {
    return windowOf({ window: defaultWindow }, limit)
  }
}

/** Divides room into equal shares; what short texts leave goes to longer ones. */
export function fairShares(sizes: readonly number[], room: number): number[] {
  const order = sizes.map((_, at) => at).sort((a, b) => (sizes[a] ?? 0) - (sizes[b] ?? 0))
  const shares = sizes.map(() => 0)
  let left = Math.max(0, room)
  for (const [done, at] of order.entries()) {
    const share = Math.min(sizes[at] ?? 0, Math.floor(left / (order.length - done)))
    shares[at] = share
    left -= share
  }
  return shares
}
