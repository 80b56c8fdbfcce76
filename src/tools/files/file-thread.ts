import { parentPort } from 'node:worker_threads'
import { HeddleError } from '../../domain/errors.ts'
import { changesSince, takeBaseline } from '../guard/baseline.ts'
import { guardedState, undoHiddenChanges, vetGuardedState } from '../guard/exec-guard.ts'
import { hiddenMarks } from '../guard/hidden-files.ts'
import type { FileJob, ThreadMessage } from './file-job.ts'
import { listDirectory } from './listing.ts'
import { readContents } from './read-contents.ts'
import { search } from './search.ts'
import { survey, touchedSince } from './survey.ts'

// Program of the worker thread: runs file jobs one after another.
const send = (message: ThreadMessage) => parentPort?.postMessage(message)

parentPort?.on('message', (job: FileJob) => {
  perform(job).then(
    (done) => send({ done }),
    (error) => send({ failed: toFailure(error) }),
  )
})
send({ ready: true })

function perform(job: FileJob) {
  if ('list' in job) return listDirectory(job.list)
  if ('search' in job) return search(job.search, (found) => send({ found }))
  if ('survey' in job) return survey(job.survey)
  if ('compare' in job) return touchedSince(job.compare)
  if ('contents' in job) return readContents(job.contents)
  if ('hiddenMarks' in job) return hiddenMarks(job.hiddenMarks)
  if ('guard' in job) return guardedState(job.guard)
  if ('vet' in job) return vetGuardedState(job.vet)
  if ('undoHiddenChanges' in job) return undoHiddenChanges(job.undoHiddenChanges)
  return 'freeze' in job ? takeBaseline(job.freeze) : changesSince(job.compareFrozen)
}

function toFailure(error: unknown) {
  if (error instanceof HeddleError) return { message: error.message, known: { code: error.code, remedy: error.remedy } }
  return { message: error instanceof Error ? error.message : String(error) }
}
