import { join } from 'node:path'

/** Where code is kept compiled, for all the homes that tests make: each would keep a copy of its own otherwise. */
export const compileCache = join(import.meta.dirname, '../../node_modules/.cache/heddle-tests')

/**
 * The young generation begins at 16 MB instead of 1: a short program ends before the first garbage collection, which
 * saves a seventh of its processor time, and a worker of the tests has fewer of them.
 */
export const nodeOptions = ['--min-semi-space-size=16']

/** The words that start a program on the Node of the tests. */
export const node: [string, ...string[]] = [process.execPath, ...nodeOptions]
