import { readFile } from 'node:fs/promises'

const settings = JSON.parse(await readFile(new URL('../config/settings.json', import.meta.url), 'utf8'))

/** Used where the settings say nothing. */
const usualPatience = 20_000

export async function upload(file) {
  const signal = AbortSignal.timeout(settings.upload.patience ?? usualPatience)
  const answer = await fetch(settings.server, { method: 'PUT', body: await readFile(file), signal })
  return answer.ok ? 'arrived' : `refused (${answer.status})`
}
