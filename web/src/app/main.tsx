import './tokens.css'
import './base.css'

import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'

const place = document.getElementById('page')
if (place) createRoot(place).render(<App />)
