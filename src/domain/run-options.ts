import { z } from 'zod'
import type { Rank } from './access/actions.ts'
import { ceiling, intersectCeilings } from './access/ceiling.ts'
import { UsageError } from './errors.ts'
import { lazy } from './lazy.ts'
import { modelSettings, type Permissions, permissions } from './persona.ts'
import { isStorable } from './text/storable.ts'

const name = () => z.string().max(200).refine(isStorable, 'must be well-formed text')

/** Options of the run that answers an input; an inbox item and a run each store them whole. */
export const runOptions = lazy(() =>
  z.strictObject({
    /** The agent that shall answer. */
    agent: name().exactOptional(),
    /** Why the words of the message chose this agent; left out if the sender named it. */
    routedBy: name().exactOptional(),
    /** A user watches and can be asked before a plan starts. */
    attended: z.boolean().exactOptional(),
    /** A user waits who can raise a spent budget; otherwise the run fails. */
    waitsForBudget: z.boolean().exactOptional(),
    model: name().exactOptional(),
    priority: z.int().exactOptional(),
    /** Max running time; 0 means no limit. */
    timeoutMs: z.int().exactOptional(),
    /** The moment at which the run ends, running or not. */
    deadline: z.int().exactOptional(),
    ...modelSettings().shape,
    /** Summarises the turns so far before the first reply, however full the window is. */
    compact: z.boolean().exactOptional(),
    /** The most that the run may have, given by the caller that starts it for another, such as a job for its author. */
    ceiling: ceiling().exactOptional(),
    /** Permissions that came with its inputs: all of them hold, besides those of its personas. */
    permissions: z.array(permissions()).exactOptional(),
    /** For a run that `delegate` starts: its profile, and the names that are forwarded to it. */
    delegation: z
      .strictObject({
        profileId: name(),
        skills: z.array(name()),
        mcpServers: z.array(name()),
      })
      .exactOptional(),
  }),
)
export type RunOptions = z.infer<ReturnType<typeof runOptions>>

/** Min turns for a compaction that the user asks for. */
export const minTurnsToCompact = 2

/** Takes the run options out of an input. Refuses what no row can hold, since a run is made of them in another's end. */
export function pickRunOptions(input: RunOptions): RunOptions {
  const known = Object.entries(input).filter(([key, value]) => key in runOptions().shape && value !== undefined)
  if (known.length === 0) return {}
  const picked = runOptions().safeParse(Object.fromEntries(known))
  if (picked.success) return picked.data
  throw new UsageError('an agent, a model or a number of this input is not well-formed', 'correct it', 'bad_input')
}

/** Options that a sender may not choose freely, with the values that hold instead of the requested ones. */
export type ClampedOptions = Pick<RunOptions, 'attended' | 'waitsForBudget' | 'priority' | 'timeoutMs'>

/**
 * Which options of a sender do not hold. Only the owner and admins may go before others, run for longer than the default,
 * and be asked questions: no other user can answer them.
 */
export function clampRunOptions(asked: RunOptions, rank: Rank, maxTimeoutMs: number): ClampedOptions {
  if (rank === 'owner' || rank === 'admin') return {}
  const { attended, waitsForBudget, priority = 0, timeoutMs = maxTimeoutMs } = asked
  return {
    ...(attended && { attended: false }),
    ...(waitsForBudget && { waitsForBudget: false }),
    ...(priority > 0 && { priority: 0 }),
    ...((timeoutMs === 0 || timeoutMs > maxTimeoutMs) && { timeoutMs: maxTimeoutMs }),
  }
}

/**
 * The options of a run that answers these inputs: the last of each counts, the highest priority, all permissions,
 * and what all ceilings leave. `before` are those of the run that it continues, which hold where no input says otherwise;
 * that one has summarised already.
 */
export function mergeRunOptions(inputs: readonly { options: RunOptions }[], before: RunOptions = {}): RunOptions {
  const { compact: _, ...kept } = before
  const { timeoutMs, ...options }: RunOptions = Object.assign({}, kept, ...inputs.map((input) => input.options))
  const floor = before.priority ?? 0
  const priorities = inputs.map((input) => input.options.priority ?? floor)
  const permissions = [before, ...inputs.map((input) => input.options)].flatMap((each) => each.permissions ?? [])
  const ceilings = [before, ...inputs.map((input) => input.options)].flatMap((each) => each.ceiling ?? [])
  return {
    ...options,
    // Earlier versions stored fractions of a millisecond, which no row of a run can hold.
    ...(timeoutMs !== undefined && { timeoutMs: Math.ceil(timeoutMs) }),
    ...(permissions.length > 0 && { permissions: distinct(permissions) }),
    ...(ceilings.length > 0 && { ceiling: intersectCeilings(...ceilings) }),
    priority: inputs.length === 0 ? floor : Math.max(...priorities),
  }
}

/** Which options hold for a whole request. The others are for the runs of one session: an agent has its own model. */
const isForRequest: Record<keyof RunOptions, boolean> = {
  agent: false,
  routedBy: false,
  attended: true,
  waitsForBudget: true,
  model: false,
  priority: true,
  timeoutMs: false,
  deadline: true,
  thinking: false,
  maxTokens: false,
  temperature: false,
  compact: false,
  // A child is limited by what its parent may delegate.
  ceiling: false,
  permissions: true,
  delegation: false,
}

/** A run that continues another one has the permissions of both, which are mostly the same. */
function distinct(all: readonly Permissions[]): Permissions[] {
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()]
}

/** The options of a child: those of its parent's request, and its own. */
export function childRunOptions(parent: RunOptions, own: RunOptions): RunOptions {
  const kept = Object.entries(parent).filter(([key]) => isForRequest[key as keyof RunOptions])
  return { ...Object.fromEntries(kept), ...own }
}
