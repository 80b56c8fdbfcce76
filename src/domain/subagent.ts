/** How much of a conversation enters a sub-agent, and what comes back; each shares more than the one before it. */
export const shareModes = ['isolated', 'handoff', 'inherit-readonly'] as const
export type ShareMode = (typeof shareModes)[number]

/** Whether a sub-agent's transcript stays once its result was read. */
export const cleanups = ['delete', 'keep'] as const
export type Cleanup = (typeof cleanups)[number]

/** What `sessions_spawn` fixes for a child, and every run that continues the child keeps. */
export interface Subagent {
  /** Short name for people and for the requester. */
  title: string
  cleanup: Cleanup
  shareMode: ShareMode
}

const maxTitle = 60

/** The mode of a spawn: it may share less than the configuration allows, never more. */
export function narrowShareMode(configured: ShareMode, requested: ShareMode = configured): ShareMode {
  return shareModes.indexOf(requested) < shareModes.indexOf(configured) ? requested : configured
}

/** A title of one line that cannot end or imitate the brackets of an announcement; undefined if nothing is left of it. */
export function subagentTitle(text: string): string | undefined {
  const line = text
    .toWellFormed()
    .replace(/[[\]\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/gu, ' ')
    .trim()
  if (line === '') return undefined
  return line.length > maxTitle
    ? `${line
        .slice(0, maxTitle - 1)
        .toWellFormed()
        .trimEnd()}…`
    : line
}
