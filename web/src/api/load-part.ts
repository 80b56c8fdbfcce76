import { get, RequestError } from './request.ts'

const storageKey = 'heddle.reloaded'
/** Between two looks whether Heddle answers again, in milliseconds. */
const pause = 1000
/** A part that is missing again so soon after a reload, in milliseconds, is missing for good. */
const patience = 10_000

/**
 * Loads a part of the page. If that fails, Heddle was stopped, or updated since this tab was opened: as soon as it answers,
 * the tab is loaded again, since a browser may remember the failure of a part. What was typed is kept.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    while (!(await isReachable())) await new Promise((resolve) => window.setTimeout(resolve, pause))
    if (Date.now() - Number(sessionStorage.getItem(storageKey)) < patience) throw error
    sessionStorage.setItem(storageKey, String(Date.now()))
    window.location.reload()
    return new Promise(() => undefined)
  }
}

async function isReachable(): Promise<boolean> {
  try {
    await get('/v1/me')
    return true
  } catch (error) {
    return error instanceof RequestError && error.status !== 0
  }
}
