import { z } from 'zod'
import { UsageError } from './errors.ts'
import { thinkingLevels } from './message.ts'
import { isStorable } from './text/storable.ts'

const name = () => z.string().max(200).refine(isStorable, 'must be well-formed text')

/** Options of the run that answers an input; stored whole with it. */
export const runOptions = z.strictObject({
  /** The agent that shall answer. */
  agent: name().exactOptional(),
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
  thinking: z.strictObject({ level: z.enum(thinkingLevels) }).exactOptional(),
})
export type RunOptions = z.infer<typeof runOptions>

/** Takes the run options out of an input. Refuses what no row can hold, since a run is made of them in another's end. */
export function pickRunOptions(input: RunOptions): RunOptions {
  const known = Object.entries(input).filter(([key, value]) => key in runOptions.shape && value !== undefined)
  const picked = runOptions.safeParse(Object.fromEntries(known))
  if (picked.success) return picked.data
  throw new UsageError('an agent, a model or a number of this input is not well-formed', 'correct it', 'bad_input')
}

/** The options of a run that answers several inputs: the last of each counts, and the highest priority. */
export function mergeRunOptions(inputs: readonly { options: RunOptions }[]): RunOptions {
  const { timeoutMs, ...options }: RunOptions = Object.assign({}, ...inputs.map((input) => input.options))
  return {
    ...options,
    // Earlier versions stored fractions of a millisecond, which no row of a run can hold.
    ...(timeoutMs !== undefined && { timeoutMs: Math.ceil(timeoutMs) }),
    priority: inputs.length === 0 ? 0 : Math.max(...inputs.map((input) => input.options.priority ?? 0)),
  }
}
