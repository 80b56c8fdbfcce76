import type { Chance } from '../simulator-schedule.ts'
import { type Author, newLines, type TrueLine } from './truth.ts'

export type LineEnd = '\n' | '\r\n'

export interface TrueFile {
  lines: TrueLine[]
  end: LineEnd
}

/** The first lines of many files. */
const knownHead = [
  '#!/usr/bin/env python3',
  '# SPDX-License-Identifier: MIT',
  'import json',
  'import logging',
  'from pathlib import Path',
]

export function textOf({ lines, end }: TrueFile): string {
  return lines.map(({ text }) => text + end).join('')
}

/** A new file. Some are short, and some begin like many others, with a head that everyone knows. */
export function createdFile(chance: Chance, author: Author): TrueFile {
  const length = chance(10) === 0 ? 1 + chance(3) : 5 + chance(20)
  const texts = [...(chance(8) === 0 ? knownHead : []), ...newLines(chance, length)]
  const authors = new Set([author])
  const lines = texts.map((text) => ({ text, authors, carriers: new Set<Author>() }))
  return { lines, end: chance(5) === 0 ? '\r\n' : '\n' }
}

/** A new file of at most six lines. */
export function shortFile(chance: Chance): TrueFile {
  const { lines, end } = createdFile(chance, '')
  return { lines: lines.slice(0, 6), end }
}

/** The file as one author has written it. */
export function byOne(file: TrueFile, author: Author): TrueFile {
  return { ...file, lines: file.lines.map((line) => ({ ...line, authors: new Set([author]) })) }
}
