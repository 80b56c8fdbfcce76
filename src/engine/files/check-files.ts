import type { Ending, Step } from '../../domain/run.ts'
import type { BegunStep } from '../run/context/journal.ts'
import type { RunHandle, WrittenFiles } from '../run/moments.ts'
import type { Engine } from '../runtime.ts'
import { artifactsOf } from './artifacts.ts'
import { noteMissingFiles } from './claimed-files.ts'
import { lossNote, lostByRun } from './lost-writes.ts'

/** Looks at the files of a run that ends: those it wrote, what others overwrote, and claimed files that are missing. */
export async function checkFiles(
  run: RunHandle<Engine>,
  ending: Ending,
): Promise<{ ending: Ending; written: WrittenFiles }> {
  const { engine, claimed } = run
  const artifacts = mayHaveWritten(run) ? await artifactsOf(engine, claimed.run) : []
  // A file that is on the disk as it was written cannot have been lost.
  const mayBeLost = artifacts.some(({ verified }) => !verified)
  const lost = mayBeLost ? await engine.store.read((rows) => lostByRun(rows, claimed.run)) : []
  const remarks = lost.length === 0 ? [] : [lossNote(lost)]
  return { ending: await noteMissingFiles(run, ending), written: { artifacts, remarks } }
}

/** Whether there may be files that this run or an earlier one of its session wrote; pure and transactional calls write none. */
function mayHaveWritten({ claimed, journal }: RunHandle<Engine>): boolean {
  const isFirst = claimed.session.headTurnId === null
  const writes = ({ kind, payload }: Step) => kind === 'begun' && !isWithoutFiles((payload as BegunStep).effect)
  return !isFirst || journal.steps.some(writes)
}

function isWithoutFiles(effect: BegunStep['effect']): boolean {
  return effect === 'pure' || effect === 'transactional'
}
