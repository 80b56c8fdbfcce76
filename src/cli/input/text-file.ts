import { readFileSync } from 'node:fs'
import { UsageError } from '../../domain/errors.ts'
import type { CommandContext } from '../command.ts'
import { printable } from '../terminal/screen.ts'

/** The text of a file that an option names. */
export function readTextOption({ pathOf }: CommandContext, file: string): string {
  const text = read(pathOf(file), file)
  if (text.trim() === '') throw new UsageError(`${printable(file)} is empty`, 'write the text into it')
  return text
}

function read(path: string, file: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${(error as Error).message})`, 'give a text file')
  }
}
