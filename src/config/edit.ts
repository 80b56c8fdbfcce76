import { readFile, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import { configProblems, readConfigText } from './config.ts'
import { placeFile, toFileError } from './files.ts'
import { ConfigInvalid } from './problem.ts'
import { type ReplaceOptions, replaceConfig } from './replace.ts'

/**
 * Lets the user edit a copy of the configuration, which replaces the file only if the copy is valid and the file has not
 * changed meanwhile. Otherwise the copy stays, and the error names it. `runEditor` resolves to the exit code.
 */
export async function editConfig(
  file: string,
  runEditor: (copy: string) => Promise<number>,
  options: ReplaceOptions,
): Promise<{ changed: boolean }> {
  const oldText = await readConfigText(file)
  const copy = await copyFor(file, oldText ?? '')
  const exitCode = await runEditor(copy).catch(async (error: unknown) => {
    // The editor did not start and the copy is unchanged: nothing would be lost.
    if ((await readCopy(copy)) === (oldText ?? '')) await unlink(copy)
    throw error
  })
  const newText = await readCopy(copy)
  if (newText === (oldText ?? '')) {
    await unlink(copy)
    if (exitCode === 0) return { changed: false }
    throw new HeddleError('editor_failed', `the editor ended with ${exitCode}; nothing was changed`, editorRemedy)
  }
  if (exitCode !== 0) {
    const message = `the editor ended with ${exitCode}; ${file} was not changed, and what you wrote is in ${copy}`
    throw new HeddleError('editor_failed', message, editorRemedy)
  }
  const problems = configProblems(newText, options.env, options.names)
  if (problems.length > 0) {
    throw new ConfigInvalid(copy, problems, `${file} was not changed: fix ${copy} and move it there, or edit again`)
  }
  try {
    await replaceConfig(file, newText, oldText, options)
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error
    throw new HeddleError(error.code, `${error.message}; what you wrote is in ${copy}`, error.remedy, { cause: error })
  }
  await unlink(copy)
  return { changed: true }
}

const editorRemedy = 'set VISUAL or EDITOR to an editor that waits until you close the file'

async function copyFor(file: string, text: string): Promise<string> {
  try {
    for (let number = 1; ; number++) {
      const copy = join(dirname(file), `heddle.edit-${number}.yaml`)
      if (await placeFile(copy, text)) return copy
    }
  } catch (error) {
    throw toFileError(error, 'config_unwritable', `cannot make a copy of ${file}`)
  }
}

async function readCopy(copy: string): Promise<string> {
  return readFile(copy, 'utf8').catch((error: unknown) => {
    throw toFileError(error, 'editor_failed', `cannot read ${copy} after the editor closed it`)
  })
}
