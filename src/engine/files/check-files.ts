import type { Ending } from '../../domain/run.ts'
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
  const artifacts = await artifactsOf(engine, claimed.run)
  // A file that is on the disk as it was written cannot have been lost.
  const mayBeLost = artifacts.some(({ verified }) => !verified)
  const lost = mayBeLost ? await engine.store.read((rows) => lostByRun(rows, claimed.run)) : []
  const remarks = lost.length === 0 ? [] : [lossNote(lost)]
  return { ending: await noteMissingFiles(run, ending), written: { artifacts, remarks } }
}
