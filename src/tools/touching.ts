import type { PathAddress } from '../domain/path-handle.ts'
import type { HiddenChanges, Touched, TouchedFiles } from '../domain/touched.ts'
import type { FileThreads } from './file-threads.ts'
import type { HiddenMarks } from './hidden-files.ts'
import { differences, mostSurveyed, otherKinds, readMarks } from './survey.ts'

const whyUnseen = {
  late: 'looking through the folder took too long',
  tooMany: `the folder has more than ${mostSurveyed.toLocaleString('en')} entries`,
}
const maxHiddenNamed = 20

/** Where something is done. `hiddenBy`: who is told to have changed files that surveys hide; absent if nobody looks. */
export interface TouchedPlace {
  folder: PathAddress
  signal: AbortSignal
  hiddenBy?: HiddenChanges['by']
}

/** Does something that may change files of a folder, and looks before and after it what becomes of them. */
export async function touching<T>(
  threads: FileThreads,
  place: TouchedPlace,
  act: () => Promise<T>,
): Promise<{ done: T; touched: Touched }> {
  const { folder, signal, hiddenBy } = place
  const before = await unlessUnseen(threads.perform({ survey: folder }, signal), signal)
  const hiddenBefore = 'unseen' in before || !hiddenBy ? undefined : await hiddenIn(threads, place, before.hidden)
  const done = await act()
  if ('unseen' in before) return { done, touched: before }
  const after = await unlessUnseen(threads.perform({ compare: { folder, before } }, signal), signal)
  if ('unseen' in after) return { done, touched: after }
  if (!hiddenBefore || !hiddenBy) return { done, touched: after.touched }
  const paths = [...new Set([...before.hidden, ...after.hidden])]
  const hiddenAfter = await hiddenIn(threads, place, paths)
  return { done, touched: hiddenAfter ? withHidden(after.touched, hiddenBy, hiddenBefore, hiddenAfter) : after.touched }
}

/** Undefined where nobody could look: then hidden files count as perhaps changed. */
async function hiddenIn(
  threads: FileThreads,
  { folder, signal }: TouchedPlace,
  paths: string[],
): Promise<HiddenMarks | undefined> {
  const seen = await unlessUnseen(threads.perform({ hiddenMarks: { folder, paths } }, signal), signal)
  return 'unseen' in seen ? undefined : seen
}

function withHidden(
  { passedOver = [], ...touched }: TouchedFiles,
  by: HiddenChanges['by'],
  before: HiddenMarks,
  after: HiddenMarks,
): TouchedFiles {
  const isSame = before.marks === after.marks
  const changed = isSame ? [] : [...differences(readMarks(before.marks), readMarks(after.marks)).keys()].sort()
  const paths = changed.slice(0, maxHiddenNamed)
  const unseen = [...new Set([...otherKinds(passedOver), ...before.passedOver, ...after.passedOver])].sort()
  return {
    ...touched,
    ...(unseen.length > 0 && { passedOver: unseen }),
    ...(changed.length > 0 && { hidden: { by, paths, more: changed.length - paths.length } }),
  }
}

/** Whatever keeps us from looking does not hinder the call; only its own end does. */
async function unlessUnseen<S extends object>(
  look: Promise<S | keyof typeof whyUnseen>,
  signal: AbortSignal,
): Promise<S | { unseen: string }> {
  try {
    const seen = await look
    return typeof seen === 'string' ? { unseen: whyUnseen[seen] } : seen
  } catch (error) {
    signal.throwIfAborted()
    return { unseen: error instanceof Error ? error.message : String(error) }
  }
}
