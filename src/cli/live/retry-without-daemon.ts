import { isDaemonGone } from '../../gateway/daemon-request.ts'

/** Asks; if the daemon is gone, asks again once `continueAlone` has put the engine of this process in its place. */
export async function retryWithoutDaemon<T>(ask: () => Promise<T>, continueAlone: () => Promise<void>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!isDaemonGone(error)) throw error
    await continueAlone()
    return ask()
  }
}
