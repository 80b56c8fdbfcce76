import { defineConfig } from 'vitest/config'
import usual from './vitest.config.ts'

/** Long and merciless tests, apart from `npm test`: what they find is not all mended yet. */
export default defineConfig({ ...usual, test: { ...usual.test, include: ['test/**/*.soak.ts'] } })
