import type { PathAddress } from '../domain/path-handle.ts'
import type { Touched } from '../domain/touched.ts'
import type { FileThreads } from './file-threads.ts'
import { mostSurveyed } from './survey.ts'

const whyUnseen = {
  late: 'looking through the folder took too long',
  tooMany: `the folder has more than ${mostSurveyed.toLocaleString('en')} entries`,
}

/** Does something that may change files of a folder, and looks before and after it what becomes of them. */
export async function touching<T>(
  threads: FileThreads,
  folder: PathAddress,
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<{ done: T; touched: Touched }> {
  const before = await unlessUnseen(threads.perform({ survey: folder }, signal), signal)
  const done = await act()
  if ('unseen' in before) return { done, touched: before }
  const touched = await unlessUnseen(
    threads.perform({ compare: { folder, before: before.marks, passedOver: before.passedOver } }, signal),
    signal,
  )
  return { done, touched }
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
