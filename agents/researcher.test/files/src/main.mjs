import { upload } from './upload.mjs'

for (const file of process.argv.slice(2)) console.log(`${file}: ${await upload(file)}`)
