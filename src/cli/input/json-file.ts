import { UsageError } from '../../domain/errors.ts'
import type { CommandContext } from '../command.ts'
import { printable } from '../terminal/screen.ts'
import { readTextOption } from './text-file.ts'

/** The JSON in a file that the user named. */
export function readJsonFile(here: CommandContext, file: string): unknown {
  const text = readTextOption(here, file)
  try {
    return JSON.parse(text)
  } catch (error) {
    const why = printable((error as Error).message)
    throw new UsageError(`${printable(file)} is not JSON: ${why}`, 'correct it and try again', 'bad_json')
  }
}

/** An object as programs write it; undefined for anything else. */
export function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}
