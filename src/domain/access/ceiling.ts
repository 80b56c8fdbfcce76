import { z } from 'zod'

const names = () => z.array(z.string().max(200)).readonly()

/**
 * The most that a run, and everything below it, may have. A limit that is left out limits nothing, so that a kind of limit
 * can be added without a change to stored rows.
 */
export const ceiling = z.strictObject({
  /** Names of tools. */
  tools: names().exactOptional(),
  /** Names of models. */
  models: names().exactOptional(),
})
export type Ceiling = z.infer<typeof ceiling>

/** What all of the ceilings leave; the only place that narrows them. Names keep the order of the first list. */
export function intersectCeilings(...ceilings: readonly Ceiling[]): Ceiling {
  const tools = intersectNames(ceilings.map((each) => each.tools))
  const models = intersectNames(ceilings.map((each) => each.models))
  return { ...(tools && { tools }), ...(models && { models }) }
}

function intersectNames(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const [first, ...others] = lists.filter((list) => list !== undefined)
  return first?.filter((name) => others.every((list) => list.includes(name)))
}
