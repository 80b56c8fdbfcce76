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

/** Who wrote a line: runs by id, or a person; several if each is right. */
export type LineTruth = string | readonly string[]
export const person = 'a person'

/** What is wrong with an answer; undefined if it is right, or unknown with a run that wrote the line named. */
export function faultOf(found: Found | undefined, truth: LineTruth, { isClean = false } = {}): string | undefined {
  const writers = [truth].flat()
  const isRunAmong = (ids: readonly string[]) => writers.some((each) => ids.includes(each))
  const isOfPerson = writers.includes(person)
  switch (found?.by) {
    case 'run':
      return isRunAmong([found.runId ?? '']) ? undefined : 'names another run'
    case 'unknown':
      if (isClean) return 'unknown although records tell it'
      return isOfPerson || isRunAmong(found.runIds ?? []) ? undefined : 'unknown without its run'
    default:
      return isOfPerson ? undefined : 'denies that a run wrote it'
  }
}
