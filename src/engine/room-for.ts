import type { Engine } from './world.ts'

/** The part of its window that an agent is begun with; the rest is for its own work. */
const beginningPart = 0.5
// As many as may be sure to be no more than one token, in whatever language.
const bytesPerToken = 3
const usualWindow = 32_000

/** Bytes of text that an agent can be begun with: half the window of the model that will read it. */
export function roomFor(
  { agents, model }: Pick<Engine, 'agents' | 'model'>,
  { agent, folder, asked = null }: { agent: string; folder: string; asked?: string | null },
): number {
  return Math.floor(windowOf(model, asked ?? agents.find(agent, folder)?.model ?? null) * beginningPart * bytesPerToken)
}

/** One that cannot be asked now fails its run, and not whoever begins it. */
function windowOf(model: Engine['model'], name: string | null): number {
  try {
    return model(name).window
  } catch {
    return usualWindow
  }
}

/** How much of each text there is room for: equal shares, and what short ones leave goes to the longer ones. */
export function sharesOf(sizes: readonly number[], room: number): number[] {
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
