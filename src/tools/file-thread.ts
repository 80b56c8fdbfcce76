import { parentPort } from 'node:worker_threads'
import { HeddleError } from '../domain/errors.ts'
import { changesSince, takeBaseline } from './baseline.ts'
import { guardedState, undoHiddenChanges, vetted } from './exec-guard.ts'
import type { FileJob, ThreadSays } from './file-job.ts'
import { hiddenMarks } from './hidden-files.ts'
import { listDirectory } from './listing.ts'
import { search } from './search.ts'
import { survey, touchedSince } from './survey.ts'

// The program of a thread that does jobs on files, one after another.
const say = (words: ThreadSays) => parentPort?.postMessage(words)

parentPort?.on('message', (job: FileJob) => {
  perform(job).then(
    (done) => say({ done }),
    (error) => say({ failed: told(error) }),
  )
})
say({ ready: true })

function perform(job: FileJob) {
  if ('list' in job) return listDirectory(job.list)
  if ('search' in job) return search(job.search, (found) => say({ found }))
  if ('survey' in job) return survey(job.survey)
  if ('compare' in job) return touchedSince(job.compare)
  if ('hiddenMarks' in job) return hiddenMarks(job.hiddenMarks)
  if ('guard' in job) return guardedState(job.guard)
  if ('vet' in job) return vetted(job.vet)
  if ('undoHiddenChanges' in job) return undoHiddenChanges(job.undoHiddenChanges)
  return 'freeze' in job ? takeBaseline(job.freeze) : changesSince(job.compareFrozen)
}

function told(error: unknown) {
  if (error instanceof HeddleError) return { message: error.message, known: { code: error.code, remedy: error.remedy } }
  return { message: error instanceof Error ? error.message : String(error) }
}
