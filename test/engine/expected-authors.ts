import { expect } from 'vitest'

type Found = { by: string; runId?: string; runIds?: string[] }

/** One of these runs, or unknown with one of them among those named. */
export const ofOrUnknown = (...runIds: string[]) =>
  expect.toSatisfy(
    (found: Found) => (found.runIds ?? [found.runId]).some((each) => runIds.includes(each ?? '')),
    `run ${runIds.join(' or ')}, or unknown with it`,
  )

/** No run is named as the author. */
export const noRun = expect.toSatisfy(({ by }: Found) => by !== 'run', 'no run')

/** This run is not named as the author. */
export const notOf = (runId: string) => expect.toSatisfy((found: Found) => found.runId !== runId, `not run ${runId}`)
