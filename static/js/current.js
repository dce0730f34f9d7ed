// In a long list the open conversation is in view.
document.querySelector('[data-row]:has([aria-current="page"])')?.scrollIntoView({block: 'nearest'});
