import { expect } from 'vitest'

type Found = { by: string; runId?: string; runIds?: string[] }

/** The run, or unknown with it among those named. */
export const ofOrUnknown = (runId: string) =>
  expect.toSatisfy(
    (found: Found) => (found.by === 'unknown' ? found.runIds?.includes(runId) === true : found.runId === runId),
    `run ${runId}, or unknown with that run`,
  )

/** No run is named as the author. */
export const noRun = expect.toSatisfy(({ by }: Found) => by !== 'run', 'no run')

/** This run is not named as the author. */
export const notOf = (runId: string) => expect.toSatisfy((found: Found) => found.runId !== runId, `not run ${runId}`)
