export { assertShown, trustFiles, type Untrusted, untrustedIn } from './tools/untrusted-files.ts'
